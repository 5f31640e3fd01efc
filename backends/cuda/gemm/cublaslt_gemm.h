// cuBLASLt as a solver, for a product in place and for a batch as one product.
#pragma once

#include <memory>

#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/gemm/cublaslt_product.h"

namespace attune::cuda {

// `cuda.cublaslt-gemm`: the config without fields is the library's own first answer at load time;
// every other config holds all fields of one algorithm (docs/formats/candidate.md). Borrows `lt`.
std::unique_ptr<const Solver> MakeCublasLtGemm(const Lazy<CublasLt>& lt);

// `cuda.folded-cublaslt-gemm`: the same for batches that are one product of the same memory
// (folded_batch.h). Borrows `lt`.
std::unique_ptr<const Solver> MakeFoldedGemm(const Lazy<CublasLt>& lt);

// A product on its operands in place, by a chosen algorithm. Takes any beta of any class, also one
// outside of its Gemm's.
std::unique_ptr<Executable> MakeCublasLtExecutable(CudaDevice& device, ChosenProduct chosen);

}  // namespace attune::cuda
