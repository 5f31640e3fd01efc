// References that a device computes: what travels to it and back.
#pragma once

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Runs `executable`, which a Backend::reference_solver() loaded on `device` for `problem`, on the
// inputs of `draft`, and writes the elements of its reference; gaps keep what they hold. Waits
// until that is done. kResourceExhausted if inputs and reference do not fit into the device's
// memory; what the device says otherwise. The reference holds anything then.
Status ComputeReferenceOn(Device& device, Executable& executable, const Problem& problem,
                          ReferenceDraft& draft);

// The same for a user's kernel: `executable` is a candidate that is believed, which takes the
// problem's operands like any other. What it writes is decoded into the reference; what it leaves
// unwritten is NaN there, unless it is of integers.
Status ComputeOwnReferenceOn(Device& device, Executable& executable, const Problem& problem,
                             ReferenceDraft& draft);

}  // namespace attune
