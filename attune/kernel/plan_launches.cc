#include "attune/kernel/plan_launches.h"

#include <functional>
#include <numeric>

namespace attune::kernel {
namespace {

int64_t Product(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

std::vector<ObservedLaunch> LaunchesOf(const KernelPlan& plan) {
  std::vector<ObservedLaunch> launches;
  for (const PlannedLaunch& planned : plan.launches) {
    ObservedLaunch& launch = launches.emplace_back();
    launch.name = planned.function;
    launch.blocks = Product(planned.groups);
    launch.threads = Product(planned.local);
    launch.shared_bytes = planned.shared_bytes;
  }
  return launches;
}

}  // namespace attune::kernel
