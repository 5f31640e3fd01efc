// How far a right result may lie from the reference.
#pragma once

#include "attune/problem/problem.h"

namespace attune {

// |x - reference| <= absolute + relative * |reference|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  double Of(double reference) const;
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// For outputs of `problem` over the inputs of ProblemData (uniform in [-1, 1], independent, zero
// mean).
//
// A sum of k such products is off by a random walk: for zero-mean data the error of recursive
// summation is at most about lambda * u * sum |a||b| with u the unit round-off of the accumulator
// and a small lambda that does not grow with k (Higham and Mary, "Sharper probabilistic backward
// error analysis for basic linear algebra kernels with random data", SIAM J. Sci. Comput. 42,
// 2020); sum |a||b| is near k / 4 here. The worst case, k u sum |a||b|, would let a dropped term
// through. Convolutions that Winograd's F(4x4, 3x3) computes get a larger lambda, for the growth in
// its transforms (Lavin and Gray 2016, table 6; Barabasz et al., "Error analysis and improving the
// accuracy of Winograd convolution for deep neural networks", ACM TOMS 46, 2020). Tensor cores
// cut off where a processor rounds, which grows faster than a random walk. On top come the
// rounding to the output type, twice if a bias or an old C may be added after it, and that of the
// inputs if the math mode allows it. Integers have no tolerance; a user's kernel has what its
// problem says. REQUIRES: CheckVerifiable(problem).
Tolerance ToleranceOf(const Problem& problem);

}  // namespace attune
