// Launches of a candidate that some solvers know before any device does.
#pragma once

#include <vector>

#include "attune/base/status.h"
#include "attune/device/launch_observer.h"
#include "attune/problem/target.h"
#include "attune/solver/fit_checker.h"

namespace attune {

// A second interface of solvers that launch only their own kernels. Thread-safe.
class LaunchPlanner {
 public:
  virtual ~LaunchPlanner() = default;

  // The launches of `built`, in order, each named after its function. For an empty artifact, grids,
  // blocks and requested shared memory are filled in, and values that are in machine code are 0.
  // kUnsupported, with the reason, if no launch can compute it.
  virtual Result<std::vector<ObservedLaunch>> PlanLaunches(const BuiltCandidate& built,
                                                           const Target& target) const = 0;
};

}  // namespace attune
