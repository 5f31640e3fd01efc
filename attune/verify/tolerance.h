// The tolerance of a problem.
#pragma once

#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {

// The tolerance for outputs of `problem` over the inputs of ProblemData: that of its operator's
// reference, or of the problem if it is a user's kernel. REQUIRES: CheckVerifiable(problem).
Tolerance ToleranceOf(const Problem& problem);

}  // namespace attune
