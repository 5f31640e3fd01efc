// Pointwise convolutions as products, as solvers.
#pragma once

#include <memory>
#include <vector>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// `cuda.cublaslt-pointwise-conv`: filters of 1 x 1 without stride and padding as one product of the
// operands in place, batched over images or groups. Configs as of cuda.cublaslt-gemm. Borrows both.
std::unique_ptr<const Solver> MakePointwiseConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc);

// `cuda.cublaslt-pointwise-weights-conv`: gradients of such filters that are sums over images,
// because these are no single matrix. Partial sums of f32 or wider in the workspace, one for each
// image, added up in their order by a kernel. Configs as above. Borrows both.
std::unique_ptr<const Solver> MakePointwiseWeightsConv(const Lazy<CublasLt>& lt,
                                                       const Lazy<Nvrtc>& nvrtc);

// `cuda.pointwise-product-conv` and `cuda.pointwise-weights-product-conv`: both by other solvers of
// products (MakeInnerProductConv).
std::unique_ptr<const Solver> MakePointwiseProductConv(std::vector<const Solver*> products,
                                                       const Lazy<Nvrtc>& nvrtc);
std::unique_ptr<const Solver> MakePointwiseWeightsProductConv(std::vector<const Solver*> products,
                                                              const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
