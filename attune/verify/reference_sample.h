// Checks a foreign reference by recomputing a few of its elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// Ok if `reference` is a possible result of f64 arithmetic on `inputs` (of Operands(problem); an
// output's is empty, and values are as ProblemData makes them), in double-double for an f64
// problem; kDataLoss with the first element that is not. Every element must be a finite number and
// every gap a NaN. Some elements are recomputed on this processor: those at the corners and others
// that `seed` chooses, some 64 in all and fewer if each sum is long. Their values must agree within
// the rounding errors of a sum in any order (Higham, "Accuracy and Stability of Numerical
// Algorithms", 2002, section 3.1). Takes milliseconds, and the time to read the reference once.
// REQUIRES: CheckVerifiable(problem), reference.size() is the span of the output.
Status CheckReference(const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                      std::span<const double> reference, uint64_t seed);

}  // namespace attune
