// Pointwise convolutions as products of cuBLASLt, as solvers.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt.h"
#include "backends/cuda/lazy.h"
#include "backends/cuda/nvrtc.h"

namespace attune::cuda {

// `cuda.cublaslt-pointwise-conv`: filters of 1 x 1 with neither stride nor padding as one product
// of the operands as they are, batched over images or groups. Configs as of cuda.cublaslt-gemm.
// Borrows `lt`.
std::unique_ptr<const Solver> MakePointwiseConv(const Lazy<CublasLt>& lt);

// `cuda.cublaslt-pointwise-weights-conv`: gradients of such filters that are sums over images,
// because these are no single matrix. Partial sums of f32 or wider in the workspace, one for each
// image, added up in their order by a kernel. Configs as above. Borrows both.
std::unique_ptr<const Solver> MakePointwiseWeightsConv(const Lazy<CublasLt>& lt,
                                                       const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
