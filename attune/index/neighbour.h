// When two problems are alike enough that what is fast for one is worth serving for the other.
#pragma once

#include <string>

#include "attune/problem/problem.h"

namespace attune {

// Problems are compared only within a family: everything but the sizes is equal (Operator). Of a
// gemm that is transposes, types, classes of alpha and beta, epilogue, determinism, whether it is a
// batch and of what shared matrices, whether a side of C is 1, and which operands have padded
// leading dimensions; of a convolution direction, mode, rank, layouts, types, bias, determinism,
// filter, stride, dilation, whether it is padded, grouped, depthwise. Alignment is in no family:
// whether a candidate can do with less, its solver says, and hosts that allocate differ in it from
// call to call. Empty for an operator that has no neighbours.
std::string FamilyOf(const Problem& problem);

// Where a problem lies in its family.
Position PositionOf(const Problem& problem);

// Euclidean. Never less for a `b` that is farther away in one coordinate, rounding included.
double Distance(const Position& a, const Position& b);

}  // namespace attune
