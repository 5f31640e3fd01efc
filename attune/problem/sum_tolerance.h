// The tolerance for sums of products.
#pragma once

#include "attune/base/data_type.h"
#include "attune/problem/reference.h"

namespace attune {

struct ProductSum {
  double k = 1;       // The number of products.
  double growth = 1;  // The growth of errors in an algorithm that transforms its inputs.
  double alpha = 1;
  // The largest |beta C + bias|, which may be added after the sum is rounded. 0 means one rounding.
  double added = 0;
  DataType input = DataType::kF32;
  DataType output = DataType::kF32;
  MathMode math = MathMode::kStrict;
  bool activated = false;
};

// For sums over inputs uniform in [-1, 1], independent, of zero mean.
//
// A sum of k such products is off by a random walk: for zero-mean data the error of recursive
// summation is at most about lambda * u * sum |a||b| with u the unit round-off of the accumulator
// and a small lambda that does not grow with k (Higham and Mary, "Sharper probabilistic backward
// error analysis for basic linear algebra kernels with random data", SIAM J. Sci. Comput. 42,
// 2020); sum |a||b| is near k / 4 here. The worst case, k u sum |a||b|, would hide a dropped term.
// Tensor cores truncate, and that error grows faster than a random walk. The tolerance also allows
// the rounding to the output type, twice if a bias or an old C is added after it, and the rounding
// of inputs that the math mode permits. Integers have no tolerance.
Tolerance ToleranceOf(const ProductSum& sum);

}  // namespace attune
