// Launches that are known without a device: of our own kernels, and by tiles.
#pragma once

#include "attune/compile/planned_launches.h"
#include "attune/model/launch_source.h"
#include "attune/model/tiled_launches.h"

namespace attune {

// Thread-safe.
class OfflineLaunches final : public LaunchSource {
 public:
  // Borrows solvers and cache.
  OfflineLaunches(const SolverList& solvers, const Target& target, KernelCache& cache)
      : planned_(solvers, target, cache), tiled_(target) {}

  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override {
    return LaunchSources({&planned_, &tiled_}).Find(problem, candidate);
  }

 private:
  const PlannedLaunches planned_;
  const TiledLaunches tiled_;
};

}  // namespace attune
