// Products of inputs in the storage order that the library multiplies less well: copied in the
// other, then multiplied.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// cuBLASLt on transposed copies of inputs (transposed_layout.h), made by one launch each. A config
// is the `copied` inputs, and optionally the fields of an algorithm for the product of the copies;
// without them it is the library's first choice. Borrows both.
std::unique_ptr<const Solver> MakeTransposedGemm(const Lazy<CublasLt>& lt,
                                                 const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
