#include "backends/cuda/gemm/split_gemm.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/gemm/composite_gemm.h"
#include "backends/cuda/gemm/split_product.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

// Algorithms for both products of a split.
struct ChosenSplit {
  ChosenProduct parts;
  std::optional<ChosenProduct> rest;

  size_t library_bytes() const {
    const size_t parts_bytes = parts.algorithm.workspaceSize;
    return rest.has_value() ? std::max(parts_bytes, rest->algorithm.workspaceSize) : parts_bytes;
  }
};

class SplitExecutable final : public Executable {
 public:
  SplitExecutable(CudaDevice& device, const Gemm& gemm, const SplitProduct& split,
                  ChosenSplit chosen, TensorLayout adder)
      : device_(device),
        has_bias_(gemm.bias != Bias::kNone),
        element_bytes_(static_cast<int64_t>(SizeBytes(gemm.type))),
        split_(split),
        chosen_(std::move(chosen)),
        adder_(std::move(adder)) {}

  size_t workspace_bytes() const override {
    return ScratchBytes(split_.sums_bytes) + ScratchBytes(chosen_.library_bytes());
  }

  // The bias is the kernel's, not the library's.
  bool is_concurrent() const override { return true; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    CublasLtCall call;
    call.a = BytesAt(operands[0]);
    call.b = BytesAt(operands[1]);
    call.c = BytesAt(arguments.workspace);
    call.workspace = BytesAt(arguments.workspace) + ScratchBytes(split_.sums_bytes);
    call.stream = device_.StreamOf(arguments);
    ATTUNE_RETURN_IF_ERROR(Multiply(chosen_.parts, call));
    if (chosen_.rest.has_value()) {
      call.a = BytesAt(operands[0]) + split_.rest_a * element_bytes_;
      call.b = BytesAt(operands[1]) + split_.rest_b * element_bytes_;
      call.beta = 1;
      ATTUNE_RETURN_IF_ERROR(Multiply(*chosen_.rest, call));
    }
    PartialSums sums = split_.sums;
    sums.from = call.c;
    sums.to = BytesAt(operands.back());
    sums.alpha = arguments.alpha;
    sums.beta = arguments.beta;
    if (has_bias_) sums.bias = BytesAt(operands[2]);
    return adder_.Launch(sums, call.stream);
  }

 private:
  static Status Multiply(const ChosenProduct& chosen, CublasLtCall call) {
    call.workspace_bytes = chosen.algorithm.workspaceSize;
    return chosen.product.Run(chosen.algorithm.algo, call);
  }

  CudaDevice& device_;
  const bool has_bias_;
  const int64_t element_bytes_;
  const SplitProduct split_;
  const ChosenSplit chosen_;
  const TensorLayout adder_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuBLASLt on parts of k as a batch, added up by a kernel";
  traits.operator_name = "gemm";
  traits.ieee_special_values = true;
  traits.checks_alignment = true;
  traits.compiles = true;
  // The traits of cuBLASLt's solver.
  traits.deterministic = false;
  return traits;
}

class SplitGemm final : public CompositeGemm {
 public:
  explicit SplitGemm(const Borrowed& libraries)
      : CompositeGemm({"cuda.split-cublaslt-gemm", 1}, Traits(), "parts", libraries) {}

  Result<BuildRecipe> Recipe(const Problem& problem, const Config&,
                             const Target& target) const override {
    return TensorLayoutRecipe(nvrtc(), problem.Get<Gemm>().c_type, target.arch);
  }

 private:
  Result<std::vector<ParameterValue>> Ways(const Gemm& gemm) const override {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<int64_t> counts, PartCounts(gemm));
    return std::vector<ParameterValue>(counts.begin(), counts.end());
  }

  Result<Gemm> InnerProduct(const Gemm& gemm, const ParameterValue& way) const override {
    return SplitAlongK(gemm, std::get<int64_t>(way)).product;
  }

  Result<std::unique_ptr<Executable>> LoadWay(CudaDevice& device, const Artifact& artifact,
                                              const Gemm& gemm, const ParameterValue& way,
                                              ChosenProduct inner) const override {
    const SplitProduct split = SplitAlongK(gemm, std::get<int64_t>(way));
    ChosenSplit chosen{std::move(inner), std::nullopt};
    if (split.rest.has_value()) {
      ATTUNE_ASSIGN_OR_RETURN(chosen.rest,
                              ChooseProduct(lt(), device.context(), *split.rest, Config()));
    }
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout adder, TensorLayout::Load(device, artifact, gemm.c_type));
    return std::unique_ptr<Executable>(std::make_unique<SplitExecutable>(
        device, gemm, split, std::move(chosen), std::move(adder)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeSplitGemm(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<SplitGemm>(CompositeGemm::Borrowed{lt, nvrtc});
}

}  // namespace attune::cuda
