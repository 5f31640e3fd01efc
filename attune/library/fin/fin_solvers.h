// MIOpen's convolution solvers through `fin`, as solvers.
#pragma once

#include <optional>

#include "attune/library/fin/fin_program.h"
#include "attune/library/fin/fin_request.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"

namespace attune::fin {

// What `fin` is asked about `conv` for a GPU; the rest is left to be filled in.
Question QuestionFor(Step step, const Target& target, const Conv& conv);

// `miopen.conv`, whose configs are all solvers that apply, each with the parameters that MIOpen
// takes by default, and `miopen.conv-search`, whose configs are those of them that have parameters
// to be searched for. So records and exports know them as they know those of databases. Without a
// program nothing applies.
SolverList FinSolvers(std::optional<Program> program);

}  // namespace attune::fin
