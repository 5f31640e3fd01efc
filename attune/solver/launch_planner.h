// What some solvers know of the launches of a candidate before any device does.
#pragma once

#include <vector>

#include "attune/base/status.h"
#include "attune/device/launch_observer.h"
#include "attune/problem/target.h"
#include "attune/solver/fit_checker.h"

namespace attune {

// A second interface of solvers whose kernels are their own. Thread-safe.
class LaunchPlanner {
 public:
  virtual ~LaunchPlanner() = default;

  // What `built` launches, in order, each called as its function. Of an empty artifact grids,
  // blocks and the shared memory that launches ask for are told, and what is in machine code is 0.
  // kUnsupported, with the reason, for what no launch can compute.
  virtual Result<std::vector<ObservedLaunch>> PlanLaunches(const BuiltCandidate& built,
                                                           const Target& target) const = 0;
};

}  // namespace attune
