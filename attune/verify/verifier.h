// Checks that an executable computes the right results and has no other effect.
#pragma once

#include <optional>
#include <span>

#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/trial/trial.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"

namespace attune {

struct Verdict {
  std::optional<Failure> failure;  // Nothing: right.
  // Largest |x - reference| / tolerance over the output; at most 1 if right, infinite with a NaN.
  double max_error = 0;
};

// Compares an output (the operand's span, gaps included) with the reference: every element within
// the tolerance and no NaN or infinity (the reference has none), every gap still poisoned. The
// message names the worst element, both values, the tolerance and how many are wrong.
Verdict CompareOutput(std::span<const std::byte> output, const ProblemData& data,
                      const Problem& problem);

// Runs the executable once on poisoned outputs (twice if the problem asks for determinism, and
// compares bits), waits, and checks the result, the red zones, the gaps and that no input changed.
// Resets the operands before, and leaves them as the run left them.
Verdict Verify(Executable& executable, Device& device, BoundOperands& operands,
               const ProblemData& data, const Problem& problem);

}  // namespace attune
