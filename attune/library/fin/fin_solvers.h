// MIOpen's convolution solvers through `fin`, as solvers.
#pragma once

#include <optional>

#include "attune/library/fin/fin_program.h"
#include "attune/library/fin/fin_request.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"

namespace attune::fin {

// A question to `fin` about `conv` on a GPU; the caller fills in the rest.
Question QuestionFor(Step step, const Target& target, const Conv& conv);

// Two solvers: the configs of `miopen.conv` are all solvers that apply, each with MIOpen's default
// parameters, and those of `miopen.conv-search` are the ones with parameters to search for. So
// records and exports treat them like those of databases. Without a program nothing applies.
SolverList FinSolvers(std::optional<Program> program);

}  // namespace attune::fin
