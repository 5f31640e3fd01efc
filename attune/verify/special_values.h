// Checks that a product follows IEEE 754 for NaN, infinity and denormal numbers.
#pragma once

#include <optional>

#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/trial.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Plants NaN, infinities and matching zeros in A and B, mainly at the borders. Plants NaN and
// infinity in C if beta is not 0, and a denormal number in f32 and f64. Runs `executable` once, or
// twice if there are few rows or columns, and compares some columns of C. Returns nothing if they
// are right, if alpha is 0, or if a type is not f64, f32, f16 or bf16. Writes about a hundred
// elements and reads about ten columns. Restores the inputs and the initial C. REQUIRES: Verify()
// found nothing wrong, and its workspace is still reserved.
std::optional<Failure> CheckSpecialValues(Executable& executable, Device& device,
                                          BoundOperands& operands, const ProblemData& data,
                                          const Problem& problem);

}  // namespace attune
