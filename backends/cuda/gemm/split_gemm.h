// Products with few results and many terms each: split along k, so that more of a GPU has work.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// cuBLASLt on a batch of parts (split_product.h), and one kernel that adds their sums in one order
// and finishes them, with any bias and activation. A config is the number of `parts`, and
// optionally the fields of an algorithm for the batch; without them it is the library's first
// choice. The rest of k beyond the parts is always multiplied by the library's first choice.
// Borrows both.
std::unique_ptr<const Solver> MakeSplitGemm(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
