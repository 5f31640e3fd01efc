// The values of every `threads` parameter of this plug-in.
#pragma once

#include <vector>

#include "attune/space/config_space.h"

namespace attune::onednn {

// All compute units first, then halves of that down to 1. Where the count cannot be chosen there is
// only 1, which then leaves the number to the library.
std::vector<ParameterValue> ThreadValues(int compute_units);

// Solver::RunsAfterFork of both solvers: the threads of OpenMP, or of another runtime that the
// library was built with, are those of the process that forked.
bool RunsAfterFork(const Config& config);

}  // namespace attune::onednn
