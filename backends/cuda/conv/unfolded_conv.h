// Convolutions as products of unfolded windows (im2col), as solvers.
#pragma once

#include <memory>
#include <vector>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// `cuda.cublaslt-im2col-conv`: convolutions without groups that are no product of their operands in
// place (unfolded_product.h). Configs as of cuda.cublaslt-gemm, for the product of one round.
// Borrows both.
std::unique_ptr<const Solver> MakeUnfoldedConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc);

// `cuda.unfolded-product-conv`: the same by other solvers of products (MakeInnerProductConv).
std::unique_ptr<const Solver> MakeUnfoldedProductConv(std::vector<const Solver*> products,
                                                      const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
