// Convolutions as products of unfolded windows (im2col) by cuBLASLt, as a solver.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt.h"
#include "backends/cuda/lazy.h"
#include "backends/cuda/nvrtc.h"

namespace attune::cuda {

// `cuda.cublaslt-im2col-conv`: what is no product of its operands as they are, without groups
// (unfolded_product.h). Configs as of cuda.cublaslt-gemm, for the product of one round. Borrows
// both.
std::unique_ptr<const Solver> MakeUnfoldedConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
