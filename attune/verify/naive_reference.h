// The definitions of the operators, written down without optimization: the fast reference is
// checked against them. For the tests of this module.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {

// Both return the output's span; gaps hold NaN.
std::vector<double> NaiveGemm(const Gemm& gemm, std::span<const OperandValues> inputs, double alpha,
                              double beta);
std::vector<double> NaiveConv(const Conv& conv, std::span<const OperandValues> inputs);

}  // namespace attune
