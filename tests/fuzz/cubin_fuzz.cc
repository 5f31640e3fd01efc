// Any bytes are machine code with properties that kernels can have, or are rejected. The fuzzer
// cannot guess offsets and names of sections. So the bytes are tried as they are, and again as
// properties and changes of a file that has such sections.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cuda/kernel/cubin.h"
#include "backends/cuda/kernel/elf_file_test.h"
#include "backends/cuda/kernel/occupancy.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

using attune::cuda::CubinKernel;

// The next bytes of `data` as a number, fewer where it ends; they are taken off it.
template <class Number>
Number Next(std::string_view& data) {
  Number number = 0;
  const size_t size = std::min(sizeof number, data.size());
  std::memcpy(&number, data.data(), size);
  data.remove_prefix(size);
  return number;
}

// A whole file. The first numbers of `data` are the properties of its kernel; the rest are places
// and values of bytes to change.
std::string FileSaying(std::string_view data) {
  attune::cuda::StatedKernel kernel;
  kernel.registers = Next<uint16_t>(data);
  kernel.shared_bytes = Next<uint64_t>(data);
  for (int i = 0; i < 3; ++i) kernel.most_threads.push_back(Next<uint32_t>(data));
  std::string bytes = attune::cuda::CubinOf(kernel);
  while (!data.empty()) {
    const size_t place = Next<uint16_t>(data) % bytes.size();
    bytes[place] = static_cast<char>(Next<uint8_t>(data));
  }
  return bytes;
}

void Ask(std::string_view bytes) {
  const std::optional<CubinKernel> kernel = attune::cuda::FindKernel(bytes, "f");
  if (!kernel.has_value()) return;
  attune::FuzzCheck(kernel->registers > 0 && kernel->registers < 256);
  attune::FuzzCheck(kernel->section_bytes >= 0 && kernel->most_threads >= 0);
  for (const char* arch : {"sm_80", "sm_90"}) {
    const auto room = attune::cuda::OccupancyOf(*kernel, {256, 1024}, arch);
    attune::FuzzCheck(room.ok() && room->blocks >= 0 && room->blocks <= 8);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Ask(bytes);
  Ask(FileSaying(bytes));
  return 0;
}
