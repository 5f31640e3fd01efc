// What the names in results of TunableOp's kind mean on a device.
#pragma once

#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/tunable/result_choices.h"

namespace attune {

// Borrows `solvers`. "Default" is the first solver that applies, a solver's name its default
// parameters.
SolutionResolver ResolverOf(const SolverList& solvers, const Target& target);

}  // namespace attune
