// Problems that distinguish corrupted kernel files, for tests. Each operator lists its own in
// kernel_tests.txt of its folder, by parts with the names in brackets below.
#pragma once

#include <string_view>
#include <vector>

#include "attune/problem/problem.h"

namespace attune::kernel {

// [covering] Small problems, the plainest first, in which every class of `operator_name` ("gemm")
// has each of its values.
std::vector<Problem> CoveringProblems(std::string_view operator_name);

// [limit] Problems just beyond the limits that shipped kernel files state of counts and of the
// workspace. Their operands are small.
std::vector<Problem> LimitProblems(std::string_view operator_name);

// [large] Problems just beyond the limits of size that shipped kernel files state. Not to be run.
std::vector<Problem> LargeProblems(std::string_view operator_name);

}  // namespace attune::kernel
