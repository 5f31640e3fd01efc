// What programs ask for most, for kernels that are compiled before anybody asks.
#pragma once

#include <vector>

#include "attune/problem/problem.h"

namespace attune::kernel {

// One problem for each combination of the classes that are common, of every operator. Their sizes
// are no matter to a kernel that takes sizes at run time.
std::vector<Problem> EverydayProblems();

}  // namespace attune::kernel
