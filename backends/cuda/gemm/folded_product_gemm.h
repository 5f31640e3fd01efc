// Batches that are one product of the same memory, computed by any solver of products.
#pragma once

#include <memory>
#include <vector>

#include "attune/solver/solver.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// `cuda.folded-product-gemm`: the products that cuda.folded-cublaslt-gemm hands to cuBLASLt in
// place (folded_batch.h), by the one of `products` that the config names: with operands that are
// padded, transposed or split, or by kernels. Configs as inner_product.h has them. Borrows the
// solvers and the compiler.
std::unique_ptr<const Solver> MakeFoldedProductGemm(std::vector<const Solver*> products,
                                                    const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
