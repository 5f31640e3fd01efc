// Convolutions computed around one product, as solvers: of cuBLASLt, or of any solver of products.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/solver/solver.h"
#include "backends/cuda/cublaslt/cublaslt.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

// The product that computes a convolution, and the kernels around it. Stateless.
class ConvByProduct {
 public:
  virtual ~ConvByProduct() = default;

  // The product to run, once or several times; or kUnsupported.
  struct Inner {
    Gemm gemm;
    // Sums of several runs are added up in C: with a beta of 1, although `gemm` has none.
    bool adds = false;
  };
  virtual Result<Inner> InnerOf(const Conv& conv) const = 0;

  // True if kernels of tensor_layout.h run around it; else `artifact` below is empty.
  virtual bool has_kernels() const = 0;

  // REQUIRES: InnerOf(conv) is ok, and `inner` computes that product.
  virtual Result<std::unique_ptr<Executable>> Load(CudaDevice& device, const Artifact& artifact,
                                                   const Conv& conv,
                                                   std::unique_ptr<Executable> inner) const = 0;
};

// The operands of a product.
struct InnerCall {
  void* a = nullptr;
  void* b = nullptr;
  BufferView bias;  // Without a handle there is none.
  void* c = nullptr;
  BufferView workspace;
  double beta = 0;
  void* queue = nullptr;
};
Status RunInner(Executable& inner, const InnerCall& call);

struct ConvSolverName {
  std::string name;
  std::string description;
};

// Computes it with cuBLASLt. Configs as of cuda.cublaslt-gemm. Instant if it needs no kernels.
// Borrows the libraries.
std::unique_ptr<const Solver> MakeCublasLtConv(ConvSolverName name,
                                               std::unique_ptr<const ConvByProduct> form,
                                               const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc);

// Computes the product with one of `products` (inner_product.h has configs and their number).
// kUnsupported for sums over several runs: kernels that never read C do not add them. Borrows the
// solvers and the compiler.
std::unique_ptr<const Solver> MakeInnerProductConv(ConvSolverName name,
                                                   std::unique_ptr<const ConvByProduct> form,
                                                   std::vector<const Solver*> products,
                                                   const Lazy<Nvrtc>& nvrtc);

}  // namespace attune::cuda
