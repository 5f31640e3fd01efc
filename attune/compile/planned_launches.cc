#include "attune/compile/planned_launches.h"

#include "attune/compile/profile_of.h"

namespace attune {

PlannedLaunches::PlannedLaunches(const SolverList& solvers, Target target, KernelCache& cache)
    : target_(std::move(target)), cache_(cache) {
  for (const auto& solver : solvers) {
    const auto* const planner = dynamic_cast<const LaunchPlanner*>(solver.get());
    if (planner != nullptr) planners_.emplace(solver->id(), PlannedSolver(solver.get(), planner));
  }
}

std::optional<Artifact> PlannedLaunches::CodeOf(const Solver& solver, const Problem& problem,
                                                const Config& config) const {
  if (!solver.traits().dynamic) return Artifact();
  const Result<BuildRecipe> recipe = solver.Recipe(problem, config, target_);
  if (!recipe.ok()) return std::nullopt;
  return recipe->empty() ? Artifact() : cache_.Find(*recipe);
}

std::optional<LaunchProfile> PlannedLaunches::Find(const Problem& problem,
                                                   const Candidate& candidate) const {
  const auto found = planners_.find(candidate.solver);
  if (found == planners_.end()) return std::nullopt;
  const auto& [solver, planner] = found->second;
  const std::optional<Artifact> code = CodeOf(*solver, problem, candidate.config);
  if (!code.has_value()) return std::nullopt;
  auto launches = planner->PlanLaunches({*code, problem, candidate.config}, target_);
  if (!launches.ok()) return std::nullopt;
  // Functions of several files may have one name.
  for (ObservedLaunch& launch : *launches) launch.name = Text(candidate.solver) + ' ' + launch.name;
  return ProfileOf(*launches, target_.compute_units);
}

}  // namespace attune
