// What an NVIDIA GPU counts of the kernels of a call.
#pragma once

#include <cuda.h>

#include <memory>

#include "attune/base/status.h"
#include "attune/device/counter_source.h"

namespace attune::cuda {

// Of CUPTI ("dram__sectors_read.sum"), for the device whose number the driver gives as `ordinal`,
// and whose context is current where it counts. kUnsupported where CUPTI's
// headers were missing when this was built, kUnavailable where it is missing now. A failure
// of a CUPTI of another version than this was built for says so.
Result<std::unique_ptr<CounterSource>> MakeCounterSource(CUcontext context, int ordinal);

}  // namespace attune::cuda
