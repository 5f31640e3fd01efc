#include "attune/solver/solver.h"

#include <fmt/format.h>

namespace attune {

Result<Config> Solver::DefaultConfig(const Problem& problem, const Target& target) const {
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, Space(problem, target));
  return space.At(0);
}

Status CheckLeavesAChoice(const Solver& baseline) {
  if (!baseline.traits().last_resort) return Status::Ok();
  return Unsupported(fmt::format(
      "Only the reference computes it ({}), so there is nothing to choose.", Text(baseline.id())));
}

const Solver* FindSolver(const SolverList& solvers, const SolverId& id) {
  for (const auto& solver : solvers) {
    if (solver->id() == id) return solver.get();
  }
  return nullptr;
}

}  // namespace attune
