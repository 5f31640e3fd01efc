// NVIDIA GPUs as a backend.
#pragma once

#include <memory>

#include "attune/solver/backend.h"

namespace attune::cuda {

// Everything of CUDA is loaded at run time; what is missing is in Backend::Libraries().
std::unique_ptr<const Backend> CudaBackend();

}  // namespace attune::cuda
