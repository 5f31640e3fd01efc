// For tests: runs one candidate on random data and compares it with a naive computation in double.
#pragma once

#include <cstdint>
#include <string>

#include "attune/solver/solver.h"

namespace attune::host {

struct CheckOutcome {
  // Largest |got - wanted| / (sum of the absolute products behind that element + what is added to
  // it).
  double worst_error = 0;
  // What else was wrong, empty if nothing: a failed call, NaN, a write outside of the output.
  std::string complaint;
};

// Builds, loads and runs `config` twice, the second time on other data and a moved workspace.
// Operands stand between guards, the output is poisoned with NaN before.
CheckOutcome CheckCandidate(const Solver& solver, const Problem& problem, const Config& config,
                            uint64_t seed);

// A target with `compute_units` cores of x86-64-v4.
Target TestTarget(int compute_units);

}  // namespace attune::host
