// Batch norms by cuDNN's graphs, as a solver.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// cuda.cudnn-graph-batch-norm. A config is an `engine` by its number and the `knobs` that are set
// on it; without parameters it is the library's first recommendation. Not applicable to problems
// that CheckCudnnNormGraph refuses. Other problems that the library refuses have no config, and
// loading them is kUnsupported. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnGraphBatchNorm(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
