// Launches that solvers of our own kernels plan.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "attune/compile/kernel_cache.h"
#include "attune/model/launch_source.h"
#include "attune/problem/target.h"
#include "attune/solver/launch_planner.h"
#include "attune/solver/solver.h"

namespace attune {

// Launches of solvers that plan them (LaunchPlanner). If one build serves every size, registers and
// room come from the machine code in the kernel cache, and nothing is known before it is there.
// Other solvers have no code for a new size yet, so registers and room are never given for them. So
// every feature that models learn from records is also known for unseen shapes. Thread-safe.
class PlannedLaunches final : public LaunchSource {
 public:
  // Borrows solvers and cache.
  PlannedLaunches(const SolverList& solvers, Target target, KernelCache& cache);

  std::optional<LaunchProfile> Find(const Problem& problem,
                                    const Candidate& candidate) const override;

 private:
  using PlannedSolver = std::pair<const Solver*, const LaunchPlanner*>;
  std::optional<Artifact> CodeOf(const Solver& solver, const Problem& problem,
                                 const Config& config) const;

  std::map<SolverId, PlannedSolver> planners_;
  const Target target_;
  KernelCache& cache_;
};

}  // namespace attune
