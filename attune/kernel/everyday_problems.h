// What programs ask for most, for kernels that are compiled before anybody asks.
#pragma once

#include <vector>

#include "attune/problem/problem.h"

namespace attune::kernel {

// One problem for each combination of the classes that are common: products of every type and
// transposition, plain and with a bias and an activation, also with few rows or columns; and
// convolutions of every direction, type and layout. Their sizes are no matter to a kernel that
// takes sizes at run time.
std::vector<Problem> EverydayProblems();

}  // namespace attune::kernel
