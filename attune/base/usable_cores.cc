#include "attune/base/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

#include "attune/base/file.h"

namespace attune {
namespace {

std::string Content(const std::filesystem::path& path) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  return ReadFileAtOnce(path, kMostBytes).value_or("");
}

// Quota over period, rounded up; nothing if there is no limit ("max" in v2, -1 in v1).
std::optional<int> QuotaInCores(const std::string& quota_text, const std::string& period_text) {
  const long long quota = std::strtoll(quota_text.c_str(), nullptr, 10);
  const long long period = std::strtoll(period_text.c_str(), nullptr, 10);
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>((quota + period - 1) / period);
}

std::optional<int> QuotaOfGroup(const std::filesystem::path& folder, bool version2) {
  if (!version2) {
    return QuotaInCores(FirstLine(folder / "cpu.cfs_quota_us"),
                        FirstLine(folder / "cpu.cfs_period_us"));
  }
  std::istringstream line(FirstLine(folder / "cpu.max"));
  std::string quota, period;
  line >> quota >> period;
  return QuotaInCores(quota, period);
}

bool NamesCpuController(std::string_view controllers) {
  std::istringstream list{std::string(controllers)};
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

// The positive number at the beginning of the value of `name`; 0 if there is none.
int NumberOf(const ProcessVariables& variables, std::string_view name) {
  const std::string text = ValueOf(variables, name).value_or("");
  return static_cast<int>(std::clamp(std::strtol(text.c_str(), nullptr, 10), 0L, 1L << 20));
}

// The smaller of two numbers, of which 0 means no limit.
int SmallerSet(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

}  // namespace

int CoresInAffinityMask() {
  // Larger than any machine that the kernel supports, so the size is sufficient.
  constexpr int kMaxCores = 8192;
  cpu_set_t sets[kMaxCores / CPU_SETSIZE];
  const int cores =
      ::sched_getaffinity(0, sizeof sets, sets) == 0 ? CPU_COUNT_S(sizeof sets, sets) : 1;
  return std::max(cores, 1);
}

int CoresGrantedByCgroup(const std::filesystem::path& root, std::string_view membership) {
  int cores = 0;
  std::istringstream lines{std::string(membership)};
  // Each line is "id:controllers:path"; the list is empty for version 2.
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && !NamesCpuController(controllers)) continue;
    const std::filesystem::path top = version2 ? root : root / "cpu";
    // A limit binds everything below it, so every group up to the top counts.
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    while (true) {
      const std::optional<int> quota = QuotaOfGroup(top / group, version2);
      if (quota.has_value()) cores = cores == 0 ? *quota : std::min(cores, *quota);
      if (group.empty()) break;
      group = group.parent_path();
    }
  }
  return cores;
}

int ThreadsAllowedBy(const ProcessVariables& variables) {
  int allowed = 0;
  for (const char* name :
       {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    allowed = SmallerSet(allowed, NumberOf(variables, name));
  }
  if (allowed == 0) allowed = NumberOf(variables, "OMP_NUM_THREADS");
  return SmallerSet(allowed, NumberOf(variables, "OMP_THREAD_LIMIT"));
}

int UsableCores() {
  const int cores = CoresInAffinityMask();
  const int granted = CoresGrantedByCgroup("/sys/fs/cgroup", Content("/proc/self/cgroup"));
  return granted > 0 ? std::min(cores, granted) : cores;
}

}  // namespace attune
