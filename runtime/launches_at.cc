#include "runtime/launches_at.h"

#include <optional>
#include <utility>

#include "attune/compile/default_kernel_cache.h"
#include "attune/compile/dry_run_launches.h"
#include "attune/compile/offline_launches.h"

namespace attune {
namespace {

class PlaceLaunches final : public LaunchSource {
 public:
  explicit PlaceLaunches(const Place& place)
      : kernels_(OpenDefaultKernelCache()),
        offline_(place.backend->solvers(), place.target, *kernels_.cache) {}

  Status OpenDevice(const Place& place) {
    ATTUNE_ASSIGN_OR_RETURN(device_, place.backend->Open(place.device_spec));
    ATTUNE_ASSIGN_OR_RETURN(
        dry_runs_, DryRunLaunches::Create(place.backend->solvers(), *device_, *kernels_.cache));
    return Status::Ok();
  }

  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override {
    if (dry_runs_ == nullptr) return offline_.Find(problem, candidate);
    return LaunchSources({dry_runs_.get(), &offline_}).Find(problem, candidate);
  }

 private:
  const OpenedKernelCache kernels_;
  const OfflineLaunches offline_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DryRunLaunches> dry_runs_;
};

}  // namespace

std::shared_ptr<const LaunchSource> LaunchesAt(const Place& place) {
  return std::make_shared<const PlaceLaunches>(place);
}

Result<std::shared_ptr<const LaunchSource>> DryRunsAt(const Place& place) {
  auto launches = std::make_shared<PlaceLaunches>(place);
  ATTUNE_RETURN_IF_ERROR(launches->OpenDevice(place));
  return std::shared_ptr<const LaunchSource>(std::move(launches));
}

}  // namespace attune
