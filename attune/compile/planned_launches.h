// Launches that our own kernels tell of themselves.
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

// Of solvers that plan their launches (LaunchPlanner). Of those whose one build serves every size,
// registers and room are of the machine code in the kernel cache, and nothing is known before it is
// there; of the others, whose code for a new size nobody has yet, they are told of none. So what is
// learnt from records is known of shapes never seen, too. Thread-safe.
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
