// What computes a convolution of a shape that nobody has seen, through cuDNN.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// `cuda.cudnn-instant-conv`: an engine that is made in some 0.1 ms and is near the best in the
// median (CudnnQuickEngines), or, where none takes the convolution, the implicit product; of
// depthwise ones the legacy algorithm that is the quickest of those that compile nothing. The
// library is asked for no recommendation, which takes it 2 to 5 ms for every shape anew, but once
// for a kind of convolutions by a version whose engines nobody has measured, and once for a layer
// of a kind that nobody has (groups, depth, exact numbers with channels last): there the legacy
// algorithm serves that the library would choose for the layer, with depth before its engines, else
// where these refuse, because the implicit product takes 3 to 15 times as long. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnInstantConv(const Lazy<Cudnn>& cudnn);

// `cuda.cudnn-implicit-conv`: the implicit product forward, algorithm 1 backward, which needs
// little memory or none: for calls whose workspace is too small for the engine. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnImplicitConv(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
