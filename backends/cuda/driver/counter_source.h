// Hardware counters of an NVIDIA GPU for the kernels of a call.
#pragma once

#include <cuda.h>

#include <memory>

#include "attune/base/status.h"
#include "attune/device/counter_source.h"

namespace attune::cuda {

// CUPTI's counters ("dram__sectors_read.sum") on the device with the driver's number `ordinal`.
// REQUIRES: its context is current wherever the source counts. kUnsupported where CUPTI's headers
// were missing when this was built, kUnavailable where it is missing now. Errors mention a CUPTI of
// another version than this was built for.
Result<std::unique_ptr<CounterSource>> MakeCounterSource(CUcontext context, int ordinal);

}  // namespace attune::cuda
