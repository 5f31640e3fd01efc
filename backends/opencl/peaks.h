// The best rates of an OpenCL device, for the roofline.
#pragma once

#include "attune/problem/target.h"
#include "backends/opencl/inventory.h"
#include "backends/opencl/opencl_device.h"

namespace attune::opencl {

// Best of a few launches of a chain of fused multiply-adds in registers, and of a copy between two
// buffers larger than the caches. Rates that cannot be measured (no f64) stay 0.
Result<Peaks> MeasureOpenClPeaks(const Inventory& inventory, OpenClDevice& device);

}  // namespace attune::opencl
