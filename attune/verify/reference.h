// The right answer of a problem, in higher precision than any candidate computes it.
#pragma once

#include <span>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/verify/work_watch.h"

namespace attune {

// Values of one operand, decoded: element at offset o of its span is values[o]. Gaps hold anything.
using OperandValues = std::vector<double>;

// Where the values of each operand begin.
inline std::vector<const double*> PointersTo(std::span<const OperandValues> operands) {
  std::vector<const double*> pointers;
  for (const OperandValues& values : operands) pointers.push_back(values.data());
  return pointers;
}

// C = activation(alpha op(A) op(B) + beta C + bias) in f64, in double-double for an f64 problem.
// `inputs` are in the order of Operands(problem), the initial C included where beta is not zero.
// alpha and beta are AlphaValue and BetaValue of their classes. Writes the elements of C's span and
// leaves its gaps alone; `watch` counts multiply-adds, and where it says stop elements stay
// unwritten. REQUIRES: gemm is valid, `output` is SpanElements long.
void ComputeGemmReference(const Gemm& gemm, std::span<const OperandValues> inputs,
                          std::span<double> output, WorkWatch& watch);

// The same for a convolution of any direction, mode, rank, layout and number of groups.
void ComputeConvReference(const Conv& conv, std::span<const OperandValues> inputs,
                          std::span<double> output, WorkWatch& watch);

}  // namespace attune
