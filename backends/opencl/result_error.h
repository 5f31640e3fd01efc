// How far the result of an executable is from the definition of its operator, for tests. Shares no
// code with attune/verify, so that one can be held against the other.
#pragma once

#include <cstdint>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"

namespace attune::opencl {

// Runs it once on data from `seed` and returns where its output differs most from the definition,
// in units of the rounding error that the reduction may make: at most 1 if it is right, infinite
// with a NaN. f32 and f64 only.
Result<double> ErrorOf(Executable& executable, Device& device, const Problem& problem,
                       uint64_t seed);

}  // namespace attune::opencl
