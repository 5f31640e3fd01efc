// Convolutions as products of matrices by any solver of products: host.im2col-LIB and
// host.conv1x1-LIB.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/host/threads/thread_pool.h"

namespace attune::host {

// Which of the two families, which do not overlap.
enum class GemmConvKind {
  kIm2col,     // Gathers inputs into a matrix first; any filter but a pointwise one.
  kPointwise,  // 1 x 1 filters without padding: gathers nothing, or with a stride the used inputs.
};

// All directions, 2-D and 3-D, groups, every layout; f32 and f64, and 16-bit types forward, as far
// as `gemm` (called host.LIB-gemm) computes the product. Parameters:
//   rows     output rows that one product covers: those of an image, of the whole batch, or fewer,
//   so that
//            the gathered matrix stays in a cache
//   threads  of gathering and, if its solver has such a parameter, the most of the product; its
//   others are those of the first config with so many
// `gemm` and `pool` must outlive the solver.
std::unique_ptr<const Solver> MakeGemmConvSolver(GemmConvKind kind, const Solver& gemm,
                                                 ThreadPool& pool);

}  // namespace attune::host
