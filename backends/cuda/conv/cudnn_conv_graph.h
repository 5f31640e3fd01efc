// Convolutions as graphs of cuDNN.
#pragma once

#include <cudnn.h>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_graph.h"

namespace attune::cuda {

// The engines that may compute a convolution: all with the requested numerical properties, or only
// those of tensor cores that multiply the operands untransformed and not in waves.
enum class CudnnEngines { kAllowed, kTensorCores };

// A graph of one operation. Its tensors are the operands in their order.
// REQUIRES: CheckCudnnConvolves(conv) is ok.
Result<CudnnGraph> MakeCudnnConvGraph(const Cudnn& cudnn, cudnnHandle_t handle, const Conv& conv,
                                      CudnnEngines engines = CudnnEngines::kAllowed);

}  // namespace attune::cuda
