// The definition of the operators, in double precision and as slowly as it is plain: what tests
// compare kernels with.
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
