// Solvers that compute convolutions of new shapes through cuDNN.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// `cuda.cudnn-instant-conv`: an engine that is made in some 0.1 ms and is near the best in the
// median (CudnnQuickEngines), or, where none takes the convolution, the implicit product. Depthwise
// convolutions use the quickest legacy algorithm of those that compile nothing. A recommendation of
// the library takes 2 to 5 ms for each new shape, so the solver asks only once per kind of
// convolution with a cuDNN version without measured engines, and once per layer of a kind without
// measured engines (groups, depth, exact numbers with channels last). Such a layer uses the legacy
// algorithm that the library would choose for it, because the implicit product takes 3 to 15 times
// as long: before the library's engines with depth, else where these refuse. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnInstantConv(const Lazy<Cudnn>& cudnn);

// `cuda.cudnn-implicit-conv`: the implicit product forward, algorithm 1 backward. It needs little
// memory or none: for calls with a workspace that is too small for the engine. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnImplicitConv(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
