#include "backends/cuda/gemm/cublaslt_gemm.h"

#include <string>
#include <utility>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/library_solver.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/gemm/cublaslt_listing.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/gemm/folded_batch.h"

namespace attune::cuda {
namespace {

class CublasLtExecutable final : public Executable {
 public:
  CublasLtExecutable(CudaDevice& device, ChosenProduct chosen)
      : device_(device),
        product_(std::move(chosen.product)),
        algorithm_(chosen.algorithm),
        has_bias_(product_.gemm().bias != Bias::kNone) {}

  size_t workspace_bytes() const override { return ScratchBytes(algorithm_.workspaceSize); }

  // The library's handle may be shared; the address of a bias is set in the product's descriptor.
  bool is_concurrent() const override { return !has_bias_; }

  // A graph has the library's kernel and its arguments, and the library is never unloaded.
  bool is_needed_by_graphs() const override { return false; }

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

SolverTraits TraitsOf(std::string description) {
  SolverTraits traits;
  traits.description = std::move(description);
  traits.operator_name = "gemm";
  traits.ieee_special_values = true;
  traits.checks_alignment = true;
  traits.instant = true;
  // Reductions of products that are split along k add in the order in which blocks end.
  traits.deterministic = false;
  return traits;
}

// The product in place that the library computes; or kUnsupported.
using ProductOf = Result<Gemm> (*)(const Gemm& gemm);

Result<Gemm> AsGiven(const Gemm& gemm) { return gemm; }

class CublasLtGemm final : public LibrarySolver {
 public:
  CublasLtGemm(const Lazy<CublasLt>& lt, SolverId id, SolverTraits traits, ProductOf product_of)
      : LibrarySolver(std::move(id), std::move(traits)), lt_(lt), product_of_(product_of) {}

  bool KeepsSpecialValues(const Problem& problem) const override {
    return CublasLtKeepsSpecialValues(problem);
  }

 private:
  std::vector<LibraryReport> Libraries() const override { return {lt_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, product_of_(problem.Get<Gemm>()));
    return CheckCublasLtTakes(gemm);
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, product_of_(problem.Get<Gemm>()));
    return ListAlgorithms(lt_.Get(), device.context(), gemm);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    ATTUNE_ASSIGN_OR_RETURN(const Gemm gemm, product_of_(problem.Get<Gemm>()));
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct chosen,
                            ChooseProduct(lt_.Get(), device.context(), gemm, config));
    return MakeCublasLtExecutable(device, std::move(chosen));
  }

  const Lazy<CublasLt>& lt_;
  const ProductOf product_of_;
};

}  // namespace

std::unique_ptr<Executable> MakeCublasLtExecutable(CudaDevice& device, ChosenProduct chosen) {
  return std::make_unique<CublasLtExecutable>(device, std::move(chosen));
}

std::unique_ptr<const Solver> MakeCublasLtGemm(const Lazy<CublasLt>& lt) {
  return std::make_unique<CublasLtGemm>(
      lt, SolverId{"cuda.cublaslt-gemm", 1},
      TraitsOf("cuBLASLt: its first answer, all others, and the space behind them"), AsGiven);
}

std::unique_ptr<const Solver> MakeFoldedGemm(const Lazy<CublasLt>& lt) {
  return std::make_unique<CublasLtGemm>(
      lt, SolverId{"cuda.folded-cublaslt-gemm", 1},
      TraitsOf("cuBLASLt: a batch as one product of its operands"), FoldedBatch);
}

}  // namespace attune::cuda
