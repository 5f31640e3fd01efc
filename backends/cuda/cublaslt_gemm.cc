#include "backends/cuda/cublaslt_gemm.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/addresses.h"
#include "backends/cuda/cublaslt_listing.h"
#include "backends/cuda/cublaslt_product.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/scratch.h"

namespace attune::cuda {
namespace {

class CublasLtExecutable final : public Executable {
 public:
  CublasLtExecutable(CudaDevice& device, CublasLtProduct product,
                     const cublasLtMatmulHeuristicResult_t& algorithm, bool has_bias)
      : device_(device), product_(std::move(product)), algorithm_(algorithm), has_bias_(has_bias) {}

  size_t workspace_bytes() const override { return ScratchBytes(algorithm_.workspaceSize); }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    const void* bias = has_bias_ ? AddressOf(operands[2]) : nullptr;
    return product_.Run(algorithm_.algo, arguments.alpha, arguments.beta, AddressOf(operands[0]),
                        AddressOf(operands[1]), bias, AddressOf(operands.back()),
                        AddressOf(arguments.workspace), algorithm_.workspaceSize, device_.stream());
  }

 private:
  CudaDevice& device_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
  const bool has_bias_;
};

class CublasLtGemm final : public Solver {
 public:
  explicit CublasLtGemm(const Lazy<CublasLt>& lt) : lt_(lt) {
    traits_.description = "cuBLASLt: its first answer, all others, and the space behind them";
    traits_.operator_name = "gemm";
    traits_.instant = true;
    traits_.listed_on_device = true;
    // Reductions of products that are split along k add in the order in which blocks end.
    traits_.deterministic = false;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }

  Status IsApplicable(const Problem& problem, const Target& target) const override {
    const auto* gemm = std::get_if<Gemm>(&problem);
    if (gemm == nullptr) return Unsupported("cuBLASLt multiplies matrices only.");
    if (target.backend != "cuda") {
      return Unsupported(
          fmt::format("cuBLASLt runs on CUDA devices, not on '{}'.", target.backend));
    }
    if (!lt_.Get().available()) return Unavailable(lt_.Get().report().missing);
    return CheckCublasLtTakes(*gemm);
  }

  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }

  Result<std::vector<Config>> ListOn(Device& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product, ProductOn(*cuda, problem));
    return ListAlgorithms(lt_.Get(), product);
  }

  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }

  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device& device) const override {
    ATTUNE_ASSIGN_OR_RETURN(CudaDevice * cuda, CudaDeviceOf(device));
    ATTUNE_ASSIGN_OR_RETURN(CublasLtProduct product, ProductOn(*cuda, problem));
    cublasLtMatmulHeuristicResult_t algorithm = {};
    if (config.empty()) {
      ATTUNE_ASSIGN_OR_RETURN(const auto answers, product.Heuristics(1));
      algorithm = answers.front();
    } else {
      ATTUNE_ASSIGN_OR_RETURN(algorithm, product.Algorithm(config));
    }
    const bool has_bias = std::get<Gemm>(problem).bias != Bias::kNone;
    return std::unique_ptr<Executable>(
        std::make_unique<CublasLtExecutable>(*cuda, std::move(product), algorithm, has_bias));
  }

 private:
  Result<CublasLtProduct> ProductOn(CudaDevice& device, const Problem& problem) const {
    ATTUNE_RETURN_IF_ERROR(device.Enter());
    ATTUNE_ASSIGN_OR_RETURN(const cublasLtHandle_t handle, lt_.Get().HandleOf(device.context()));
    return CublasLtProduct::Create(lt_.Get(), handle, std::get<Gemm>(problem));
  }

  const Lazy<CublasLt>& lt_;
  const SolverId id_ = {"cuda.cublaslt-gemm", 1};
  SolverTraits traits_;
};

}  // namespace

std::unique_ptr<const Solver> MakeCublasLtGemm(const Lazy<CublasLt>& lt) {
  return std::make_unique<CublasLtGemm>(lt);
}

}  // namespace attune::cuda
