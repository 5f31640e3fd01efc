#include "apps/attune/cpu_budget.h"

#include <sys/resource.h>

#include <algorithm>

namespace attune {
namespace {

int64_t Nanoseconds(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1'000;
}

int64_t UsedBy(int who) {
  rusage usage{};
  if (::getrusage(who, &usage) != 0) return 0;
  return Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime);
}

}  // namespace

int64_t ProcessorTimeNs() { return UsedBy(RUSAGE_SELF) + UsedBy(RUSAGE_CHILDREN); }

int64_t RestNs(int64_t processor_ns, int64_t wall_ns, double share) {
  const auto worth_ns = static_cast<int64_t>(static_cast<double>(processor_ns) / share);
  return std::max<int64_t>(worth_ns - wall_ns, 0);
}

}  // namespace attune
