#include "attune/solver/solver.h"

namespace attune {

const Solver* FindSolver(const SolverList& solvers, const SolverId& id) {
  for (const auto& solver : solvers) {
    if (solver->id() == id) return solver.get();
  }
  return nullptr;
}

}  // namespace attune
