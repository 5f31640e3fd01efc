// Whether a reference that somebody else computed is right, as far as a few of its elements tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// Ok if `reference` may be what f64 arithmetic makes of `inputs` (of Operands(problem); an output's
// is empty, and values are as ProblemData makes them), in double-double for an f64 problem;
// kDataLoss with the first element that is not. Every element has to be a finite number and every
// gap a NaN. Of those at the corners and of others that `seed` chooses, some 64 in all and fewer
// where each is long, the value has to lie as near to that of this processor as rounding errors of
// a sum in any order allow (Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
// section 3.1). Milliseconds, and what it takes to read the reference once. REQUIRES:
// CheckVerifiable(problem), reference.size() is the span of the output.
Status CheckReference(const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                      std::span<const double> reference, uint64_t seed);

}  // namespace attune
