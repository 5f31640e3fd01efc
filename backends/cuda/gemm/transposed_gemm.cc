#include "backends/cuda/gemm/transposed_gemm.h"

#include <array>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/gemm/composite_gemm.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/gemm/transposed_layout.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

class TransposedExecutable final : public Executable {
 public:
  TransposedExecutable(CudaDevice& device, TransposedLayout layout, TensorLayout copier,
                       ChosenProduct inner)
      : device_(device),
        layout_(std::move(layout)),
        copier_(std::move(copier)),
        product_(std::move(inner.product)),
        algorithm_(inner.algorithm) {}

  size_t workspace_bytes() const override {
    return layout_.CopiesBytes() + ScratchBytes(algorithm_.workspaceSize);
  }

  // The same as cuBLASLt's solver.
  bool is_concurrent() const override { return layout_.inner.bias == Bias::kNone; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    std::array<std::byte*, 2> inputs = {BytesAt(operands[0]), BytesAt(operands[1])};
    std::byte* scratch = BytesAt(arguments.workspace);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!layout_.copies[i].has_value()) continue;
      Relayout copy = *layout_.copies[i];
      copy.from = inputs[i];
      copy.to = inputs[i] = scratch;
      ATTUNE_RETURN_IF_ERROR(copier_.Launch(copy, device_.StreamOf(arguments)));
      scratch += ScratchBytes(layout_.bytes[i]);
    }
    const bool has_bias = layout_.inner.bias != Bias::kNone;
    return product_.Run(algorithm_.algo, {.alpha = arguments.alpha,
                                          .beta = arguments.beta,
                                          .a = inputs[0],
                                          .b = inputs[1],
                                          .bias = has_bias ? BytesAt(operands[2]) : nullptr,
                                          .c = BytesAt(operands.back()),
                                          .workspace = scratch,
                                          .workspace_bytes = algorithm_.workspaceSize,
                                          .stream = device_.StreamOf(arguments)});
  }

 private:
  CudaDevice& device_;
  const TransposedLayout layout_;
  const TensorLayout copier_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuBLASLt on inputs copied in the other storage order";
  traits.operator_name = "gemm";
  traits.ieee_special_values = true;
  traits.checks_alignment = true;
  traits.compiles = true;
  // The traits of cuBLASLt's solver.
  traits.deterministic = false;
  return traits;
}

class TransposedGemm final : public CompositeGemm {
 public:
  explicit TransposedGemm(const Borrowed& libraries)
      : CompositeGemm({"cuda.transposed-cublaslt-gemm", 1}, Traits(), "copied", libraries) {}

  bool KeepsSpecialValues(const Problem& problem) const override {
    return CublasLtKeepsSpecialValues(problem);
  }

  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const override {
    return TensorLayoutRecipe(nvrtc(), problem.Get<Gemm>().type, target.arch);
  }

 private:
  Result<std::vector<ParameterValue>> Ways(const Gemm& gemm) const override {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string> inputs,
                            TransposableInputs(gemm, kMostScratchBytes));
    return std::vector<ParameterValue>(inputs.begin(), inputs.end());
  }

  Result<Gemm> InnerProduct(const Gemm& gemm, const ParameterValue& way) const override {
    ATTUNE_ASSIGN_OR_RETURN(const TransposedLayout layout,
                            TransposeInputs(gemm, std::get<std::string>(way)));
    return layout.inner;
  }

  Result<std::unique_ptr<Executable>> LoadWay(CudaDevice& device, const Artifact& artifact,
                                              const Gemm& gemm, const ParameterValue& way,
                                              ChosenProduct inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(TransposedLayout layout,
                            TransposeInputs(gemm, std::get<std::string>(way)));
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout copier, TensorLayout::Load(device, artifact, gemm.type));
    return std::unique_ptr<Executable>(std::make_unique<TransposedExecutable>(
        device, std::move(layout), std::move(copier), std::move(inner)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeTransposedGemm(const Lazy<CublasLt>& lt,
                                                 const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<TransposedGemm>(CompositeGemm::Borrowed{lt, nvrtc});
}

}  // namespace attune::cuda
