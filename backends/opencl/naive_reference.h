// The definition of the operators, in double precision and slow but plain: the reference for tests
// of kernels.
#pragma once

#include <vector>

#include "attune/problem/problem.h"

namespace attune::opencl {

// `operands` in the order of Operands(problem), each of SpanElements; the last one holds C before a
// gemm with beta. Returns the output's span; gaps are as in the last operand.
std::vector<double> NaiveResult(const Problem& problem,
                                const std::vector<std::vector<double>>& operands, double alpha,
                                double beta);

}  // namespace attune::opencl
