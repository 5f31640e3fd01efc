// How far a right result may lie from the reference.
#pragma once

#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {

// For outputs of `problem` over the inputs of ProblemData: what the reference of its operator says;
// of a user's kernel what its problem says. REQUIRES: CheckVerifiable(problem).
Tolerance ToleranceOf(const Problem& problem);

}  // namespace attune
