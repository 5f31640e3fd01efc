// References of gemms and convolutions on a CUDA device, for Backend::reference_solver().
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// Borrows `nvrtc`.
std::unique_ptr<const Solver> MakeReferenceSolver(const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
