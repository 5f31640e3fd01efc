// The launches of a call: its capture into a graph is read and thrown away.
#pragma once

#include <cuda.h>

#include <functional>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/launch_observer.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// The kernels that `launch` enqueues on `stream`, in the order of capture. Nothing runs; the stream
// is as it was. Fails as `launch` and the capture do; kUnsupported if the driver lacks the
// functions that read a graph (CUDA 12.3 has them).
Result<std::vector<ObservedLaunch>> DryRun(const Driver& driver, CUstream stream,
                                           const std::function<Status()>& launch);

}  // namespace attune::cuda
