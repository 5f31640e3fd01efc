// Convolutions that cuDNN is ready to run, as executables.
#pragma once

#include <memory>

#include "attune/device/device.h"
#include "backends/cuda/conv/cudnn_product.h"
#include "backends/cuda/cudnn/cudnn_graph.h"
#include "backends/cuda/driver/cuda_device.h"

namespace attune::cuda {

// Borrow `device`. Launches that keep the calling thread long become replays (ReplayIfSlow).
std::unique_ptr<Executable> MakeCudnnExecutable(CudaDevice& device, CudnnProduct product,
                                                CudnnProduct::Algorithm algorithm);
std::unique_ptr<Executable> MakeCudnnExecutable(CudaDevice& device, CudnnGraph graph,
                                                CudnnPlan plan);

}  // namespace attune::cuda
