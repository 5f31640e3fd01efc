// Checks that results follow IEEE 754 for NaN, infinity and denormal numbers.
#pragma once

#include <optional>

#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/trial.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Runs `executable` on each test of Reference::SpecialValuesOf(). Returns nothing if the results
// are right, or the operator has no such tests. A test writes about a hundred elements. Restores
// inputs and the initial values of outputs. REQUIRES: Verify() passed, and its workspace is still
// reserved.
std::optional<Failure> CheckSpecialValues(Executable& executable, Device& device,
                                          BoundOperands& operands, const ProblemData& data,
                                          const Problem& problem);

}  // namespace attune
