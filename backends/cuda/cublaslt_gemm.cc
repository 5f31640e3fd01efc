#include "backends/cuda/cublaslt_gemm.h"

#include <utility>
#include <variant>
#include <vector>

#include "backends/cuda/addresses.h"
#include "backends/cuda/cublaslt_listing.h"
#include "backends/cuda/cublaslt_product.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/library_solver.h"
#include "backends/cuda/scratch.h"

namespace attune::cuda {
namespace {

class CublasLtExecutable final : public Executable {
 public:
  CublasLtExecutable(CudaDevice& device, CublasLtProduct product,
                     const cublasLtMatmulHeuristicResult_t& algorithm, bool has_bias)
      : device_(device), product_(std::move(product)), algorithm_(algorithm), has_bias_(has_bias) {}

  size_t workspace_bytes() const override { return ScratchBytes(algorithm_.workspaceSize); }

  // The library's handle may be shared; the address of a bias is set in the product's descriptor.
  bool is_concurrent() const override { return !has_bias_; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    const void* bias = has_bias_ ? AddressOf(operands[2]) : nullptr;
    return product_.Run(algorithm_.algo, {.alpha = arguments.alpha,
                                          .beta = arguments.beta,
                                          .a = AddressOf(operands[0]),
                                          .b = AddressOf(operands[1]),
                                          .bias = bias,
                                          .c = AddressOf(operands.back()),
                                          .workspace = AddressOf(arguments.workspace),
                                          .workspace_bytes = algorithm_.workspaceSize,
                                          .stream = device_.StreamOf(arguments)});
  }

 private:
  CudaDevice& device_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
  const bool has_bias_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuBLASLt: its first answer, all others, and the space behind them";
  traits.operator_name = "gemm";
  traits.instant = true;
  // Reductions of products that are split along k add in the order in which blocks end.
  traits.deterministic = false;
  return traits;
}

class CublasLtGemm final : public LibrarySolver {
 public:
  explicit CublasLtGemm(const Lazy<CublasLt>& lt)
      : LibrarySolver({"cuda.cublaslt-gemm", 1}, Traits()), lt_(lt) {}

 private:
  std::vector<LibraryReport> Libraries() const override { return {lt_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return CheckCublasLtTakes(std::get<Gemm>(problem));
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product, ProductOn(device, problem));
    return ListAlgorithms(lt_.Get(), product);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(CublasLtProduct product, ProductOn(device, problem));
    ATTUNE_ASSIGN_OR_RETURN(const auto algorithm, product.Algorithm(config));
    const bool has_bias = std::get<Gemm>(problem).bias != Bias::kNone;
    return std::unique_ptr<Executable>(
        std::make_unique<CublasLtExecutable>(device, std::move(product), algorithm, has_bias));
  }

  Result<CublasLtProduct> ProductOn(CudaDevice& device, const Problem& problem) const {
    return CublasLtProduct::On(lt_.Get(), device.context(), std::get<Gemm>(problem));
  }

  const Lazy<CublasLt>& lt_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCublasLtGemm(const Lazy<CublasLt>& lt) {
  return std::make_unique<CublasLtGemm>(lt);
}

}  // namespace attune::cuda
