// The best rates of a CUDA device.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// Peaks of multiply-adds on the ordinary units (no tensor cores) and of copies within device
// memory. Takes a fraction of a second.
Result<Peaks> MeasureCudaPeaks(const Nvrtc& nvrtc, CudaDevice& device);

}  // namespace attune::cuda
