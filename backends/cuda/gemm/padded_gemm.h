// Products with columns that no wide load can read: copied, multiplied, copied back.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// cuBLASLt on copies of the operands (padded_layout.h), made by one launch before the product and,
// where C is copied, one after it. A config is the `padding`, and optionally the fields of an
// algorithm for the padded product; without them it is the library's first choice. Borrows both.
std::unique_ptr<const Solver> MakePaddedGemm(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
