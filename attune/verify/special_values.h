// Whether a product spreads NaN and infinity as IEEE 754 has it.
#pragma once

#include <optional>

#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/trial.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Plants NaN, infinities and zeros that meet them in a few places of A and B, at the borders above
// all, NaN and infinity in C where beta is not zero, and in f32 and f64 a denormal number that
// counts; runs `executable` once or, of few rows or columns, twice; and compares some columns of C.
// Nothing if they are right, and for what is no product of real numbers or has an alpha of 0.
// Costs little more than the runs: some hundred elements are written, and ten columns are read.
// Leaves inputs as they were and C as it is in the beginning.
// REQUIRES: Verify() found nothing wrong, and its workspace is still reserved.
std::optional<Failure> CheckSpecialValues(Executable& executable, Device& device,
                                          BoundOperands& operands, const ProblemData& data,
                                          const Problem& problem);

}  // namespace attune
