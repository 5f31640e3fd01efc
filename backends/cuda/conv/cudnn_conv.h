// cuDNN's legacy convolutions as a solver.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// `cuda.cudnn-conv{algorithm=..., math=...}`. The algorithm "first" is the first answer of
// cudnnGetConvolution*Algorithm_v7 at load time: the choice of a program that does not tune. Also a
// LayerLibrary. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnConv(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
