// The BLAS_PARAMS column: a product in the words of rocBLAS's and hipBLASLt's bench programs.
#pragma once

#include <string>

#include "attune/problem/problem.h"

namespace attune {

// "- { function: matmul, M: 4, ... }"; empty if `problem` is no gemm. An alpha or beta that is
// neither 0 nor 1 is written as 2.
std::string BlasParams(const Problem& problem);

}  // namespace attune
