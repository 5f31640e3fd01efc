// cuDNN's engines behind its graph interface, as a solver.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {

// A config is an `engine` by its number and the `knobs` that are set on it; without parameters it
// is the library's first recommendation. Borrows `cudnn`.
std::unique_ptr<const Solver> MakeCudnnGraphConv(const Lazy<Cudnn>& cudnn);

}  // namespace attune::cuda
