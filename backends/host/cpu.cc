#include "backends/host/cpu.h"

#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/base/usable_cores.h"

namespace attune::host {
namespace {

struct CpuidLeaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidLeaf ReadCpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidLeaf out;
  if (!__get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx)) return {};
  return out;
}

// The register sets that the operating system saves; an instruction set is usable only if its are.
uint64_t EnabledRegisterSets(const CpuidLeaf& leaf1) {
  constexpr uint32_t kOsxsaveBit = 27;
  if (!(leaf1.ecx >> kOsxsaveBit & 1)) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

enum class SavedState : uint64_t { kNone = 0, kYmm = 0x6, kZmm = 0xE6, kTiles = 0x60000 };

struct Feature {
  const char* name;
  IsaLevel level;    // The first level that contains it; kBaseline: in none, listed only.
  bool listed;       // Shown in CpuDescription::isa.
  bool reported;     // By CPUID.
  SavedState needs;  // State that the operating system must save.
};

std::vector<Feature> ReadFeatures() {
  using enum SavedState;
  using L = IsaLevel;
  const CpuidLeaf l1 = ReadCpuid(1, 0), l7 = ReadCpuid(7, 0), l7_1 = ReadCpuid(7, 1);
  const CpuidLeaf ext = ReadCpuid(0x80000001, 0);
  const auto bit = [](uint32_t word, int index) { return (word >> index & 1) != 0; };
  return {
      {"sse3", L::kV2, false, bit(l1.ecx, 0), kNone},
      {"ssse3", L::kV2, false, bit(l1.ecx, 9), kNone},
      {"cx16", L::kV2, false, bit(l1.ecx, 13), kNone},
      {"sse4_1", L::kV2, false, bit(l1.ecx, 19), kNone},
      {"sse4_2", L::kV2, true, bit(l1.ecx, 20), kNone},
      {"popcnt", L::kV2, false, bit(l1.ecx, 23), kNone},
      {"lahf", L::kV2, false, bit(ext.ecx, 0), kNone},
      {"avx", L::kV3, true, bit(l1.ecx, 28), kYmm},
      {"avx2", L::kV3, true, bit(l7.ebx, 5), kYmm},
      {"bmi1", L::kV3, false, bit(l7.ebx, 3), kNone},
      {"bmi2", L::kV3, false, bit(l7.ebx, 8), kNone},
      {"f16c", L::kV3, true, bit(l1.ecx, 29), kYmm},
      {"fma", L::kV3, true, bit(l1.ecx, 12), kYmm},
      {"lzcnt", L::kV3, false, bit(ext.ecx, 5), kNone},
      {"movbe", L::kV3, false, bit(l1.ecx, 22), kNone},
      {"avx512f", L::kV4, true, bit(l7.ebx, 16), kZmm},
      {"avx512bw", L::kV4, true, bit(l7.ebx, 30), kZmm},
      {"avx512cd", L::kV4, true, bit(l7.ebx, 28), kZmm},
      {"avx512dq", L::kV4, true, bit(l7.ebx, 17), kZmm},
      {"avx512vl", L::kV4, true, bit(l7.ebx, 31), kZmm},
      {"avx512vnni", L::kBaseline, true, bit(l7.ecx, 11), kZmm},
      {"avx512bf16", L::kBaseline, true, bit(l7_1.eax, 5), kZmm},
      {"avx512fp16", L::kBaseline, true, bit(l7.edx, 23), kZmm},
      {"avxvnni", L::kBaseline, true, bit(l7_1.eax, 4), kYmm},
      {"amx-bf16", L::kBaseline, true, bit(l7.edx, 22), kTiles},
      {"amx-int8", L::kBaseline, true, bit(l7.edx, 25), kTiles},
  };
}

void DescribeInstructionSets(CpuDescription& cpu) {
  const uint64_t saved = EnabledRegisterSets(ReadCpuid(1, 0));
  const std::vector<Feature> features = ReadFeatures();
  const auto usable = [&](const Feature& feature) {
    const auto needs = static_cast<uint64_t>(feature.needs);
    return feature.reported && (saved & needs) == needs;
  };
  for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    const bool complete = std::all_of(
        features.begin(), features.end(),
        [&](const Feature& feature) { return feature.level != level || usable(feature); });
    if (!complete) break;
    cpu.level = level;
  }
  for (const Feature& feature : features) {
    if (feature.listed && usable(feature)) cpu.isa.emplace_back(feature.name);
  }
  std::sort(cpu.isa.begin(), cpu.isa.end());
}

std::string ModelName() {
  // The first core comes first; listing all of them takes milliseconds.
  char beginning[4096] = "";
  const UniqueFd fd = OpenFile("/proc/cpuinfo", O_RDONLY);
  const ssize_t got = ::read(fd.get(), beginning, sizeof beginning);
  std::istringstream lines(std::string(beginning, static_cast<size_t>(std::max<ssize_t>(got, 0))));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "unknown";
}

// "32768K" as the kernel writes cache sizes.
size_t ParseCacheSize(const std::string& text) {
  char* end = nullptr;
  const size_t value = std::strtoull(text.c_str(), &end, 10);
  if (*end == 'K') return value << 10;
  if (*end == 'M') return value << 20;
  return value;
}

// From the kernel's description of core 0. Not from sysconf: in virtual machines that adds up the
// third level caches of the whole socket, of which one core reaches one.
void DescribeCaches(CpuDescription& cpu) {
  for (int index = 0; index < 8; ++index) {
    const std::filesystem::path folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    if (FirstLine(folder / "type") == "Instruction") continue;
    const std::string level = FirstLine(folder / "level");
    const size_t size_bytes = ParseCacheSize(FirstLine(folder / "size"));
    if (level == "1") cpu.l1d_bytes = size_bytes;
    if (level == "2") cpu.l2_bytes = size_bytes;
    if (level == "3") cpu.l3_bytes = size_bytes;
  }
}

}  // namespace

std::string_view Name(IsaLevel level) {
  switch (level) {
    case IsaLevel::kBaseline:
      return "x86-64";
    case IsaLevel::kV2:
      return "x86-64-v2";
    case IsaLevel::kV3:
      return "x86-64-v3";
    case IsaLevel::kV4:
      return "x86-64-v4";
  }
  return "x86-64";
}

CpuDescription DescribeCpu() {
  CpuDescription cpu;
  cpu.model = ModelName();
  DescribeInstructionSets(cpu);
  DescribeCaches(cpu);
  cpu.usable_cores = UsableCores();
  return cpu;
}

}  // namespace attune::host
