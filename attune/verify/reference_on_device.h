// References that a device computes: the transfers to it and back.
#pragma once

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/verify/problem_data.h"

namespace attune {

// Runs `executable`, which a Backend::reference_solver() loaded on `device` for `problem`, on the
// inputs of `draft`, and writes the elements of its reference; gaps keep their content. Waits until
// that is done. kResourceExhausted if inputs and reference do not fit into the device's memory;
// otherwise the error of the device. After an error the reference is undefined.
Status ComputeReferenceOn(Device& device, Executable& executable, const Problem& problem,
                          ReferenceDraft& draft);

// The same for a user's kernel: `executable` is a trusted candidate, which takes the problem's
// operands like any other. Its output is decoded into the reference; elements that it leaves
// unwritten are NaN there, except integers.
Status ComputeOwnReferenceOn(Device& device, Executable& executable, const Problem& problem,
                             ReferenceDraft& draft);

}  // namespace attune
