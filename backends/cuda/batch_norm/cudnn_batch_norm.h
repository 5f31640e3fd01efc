// Batch norms by cuDNN's legacy calls.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// cuda.cudnn-batch-norm. Its parameter `call` is the mode of cuDNN: "per_activation", "spatial" or
// "spatial_persistent", or one of the last two behind "fused_", which is the call that also adds
// and cuts off. What cuDNN does not have: affine = 0, inference and backward with a
// fusion (the mask of its own forward pass is no operand), and per activation channels last.
// Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnBatchNorm(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
