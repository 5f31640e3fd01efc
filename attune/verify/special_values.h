// Checks that results follow IEEE 754 for NaN, infinity and denormal numbers.
#pragma once

#include <optional>

#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/trial.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Runs `executable` on each of Reference::SpecialValuesOf(): of a product, with NaN, infinities and
// matching zeros at the borders of A and B, in C if beta is not 0, and with a denormal number.
// Returns nothing if the results are right, or the operator has no such tests. Writes about a
// hundred elements for each test. Restores the inputs and what outputs begin with. REQUIRES:
// Verify() found nothing wrong, and its workspace is still reserved.
std::optional<Failure> CheckSpecialValues(Executable& executable, Device& device,
                                          BoundOperands& operands, const ProblemData& data,
                                          const Problem& problem);

}  // namespace attune
