// Convolutions as graphs of cuDNN.
#pragma once

#include <cudnn.h>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/cudnn/cudnn_graph.h"

namespace attune::cuda {

// Which engines compute a convolution: all that give the numbers that were asked for, or of these
// only those of tensor cores that multiply the operands as they are, neither transformed nor in
// waves.
enum class CudnnEngines { kAllowed, kTensorCores };

// A graph of one operation. Its tensors are the operands in their order.
// REQUIRES: CheckCudnnConvolves(conv) is ok.
Result<CudnnGraph> MakeCudnnConvGraph(const Cudnn& cudnn, cudnnHandle_t handle, const Conv& conv,
                                      CudnnEngines engines = CudnnEngines::kAllowed);

}  // namespace attune::cuda
