// The tolerance of a problem.
#pragma once

#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {

// The tolerance of an operand that `problem` writes, over the inputs of ProblemData: that of its
// operator's reference, or of the problem if it is a user's kernel. REQUIRES:
// CheckVerifiable(problem).
GroupTolerance ToleranceOf(const Problem& problem, size_t operand);

}  // namespace attune
