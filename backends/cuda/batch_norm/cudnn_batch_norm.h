// Batch norms by cuDNN's legacy calls.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// Ok, or kUnsupported for more than 2^31 - 1 elements.
Status CheckCudnnCountsElements(const BatchNorm& norm);

// cuda.cudnn-batch-norm. Its parameter `call` is the mode of cuDNN: "per_activation", "spatial" or
// "spatial_persistent". The prefix "fused_" selects the calls that can also add a residual and
// apply a ReLU. Not applicable: affine = 0; more than 2^31 - 1 elements; channels last per
// activation; a fusion outside of training, of f16 with channels last and a multiple of 4 channels.
// Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnBatchNorm(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
