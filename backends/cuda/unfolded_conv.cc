#include "backends/cuda/unfolded_conv.h"

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "attune/problem/conv_operands.h"
#include "backends/cuda/addresses.h"
#include "backends/cuda/cublaslt_listing.h"
#include "backends/cuda/cublaslt_product.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/layout_solver.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/tensor_layout.h"
#include "backends/cuda/unfolded_product.h"

namespace attune::cuda {
namespace {

class UnfoldedExecutable final : public Executable {
 public:
  UnfoldedExecutable(CudaDevice& device, const Conv& conv, const UnfoldedProduct& plan,
                     ChosenProduct inner, TensorLayout layout)
      : device_(device),
        conv_(conv),
        images_(ImagesOf(conv)),
        plan_(plan),
        product_(std::move(inner.product)),
        algorithm_(inner.algorithm),
        layout_(std::move(layout)) {}

  size_t workspace_bytes() const override {
    return plan_.WorkspaceBytes() + ScratchBytes(algorithm_.workspaceSize);
  }

  // As cuBLASLt's own.
  bool is_concurrent() const override { return !conv_.bias; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    Places places = PlacesOf(arguments);
    std::byte* const weights = places.weights;
    if (plan_.copy_weights.has_value()) {
      places.weights = places.copied_weights;
      ATTUNE_RETURN_IF_ERROR(Launch(*plan_.copy_weights, weights, places.weights, places));
    }
    if (plan_.round_sums.has_value()) places.weights = places.sums;
    const auto element_bytes = static_cast<int64_t>(SizeBytes(conv_.type));
    for (int64_t round = 0; round < plan_.rounds; ++round) {
      ATTUNE_RETURN_IF_ERROR(RunRound(places, round));
      places.large += plan_.large_step * element_bytes;
      places.small += plan_.small_step * element_bytes;
    }
    if (!plan_.round_sums.has_value()) return Status::Ok();
    return Launch(*plan_.round_sums, places.sums, weights, places);
  }

 private:
  // Where everything of one round is.
  struct Places {
    std::byte* large;
    std::byte* small;
    std::byte* weights;
    std::byte* bias;
    std::byte* windows;
    std::byte* copied_small;
    std::byte* copied_weights;
    std::byte* sums;
    std::byte* scratch;  // Of the library.
    CUstream stream;
  };

  Places PlacesOf(const Arguments& arguments) const {
    const auto at = [&](size_t operand) {
      return static_cast<std::byte*>(AddressOf(arguments.operands[operand]));
    };
    Places places = {};
    places.large = at(images_.large.operand);
    places.small = at(images_.small.operand);
    places.weights = at(images_.weights_operand);
    if (conv_.bias) places.bias = at(RolesOf(conv_).bias);
    places.windows = static_cast<std::byte*>(AddressOf(arguments.workspace));
    places.copied_small = places.windows + plan_.windows_bytes;
    places.copied_weights = places.copied_small + plan_.small_bytes;
    places.sums = places.copied_weights + plan_.weights_bytes;
    places.scratch = places.sums + plan_.sums_bytes;
    places.stream = device_.StreamOf(arguments);
    return places;
  }

  template <class Task>
  Status Launch(Task task, const void* from, void* to, const Places& places) const {
    task.from = from;
    task.to = to;
    return layout_.Launch(task, places.stream);
  }

  Status RunRound(Places places, int64_t round) const {
    if (plan_.unfold.has_value()) {
      ATTUNE_RETURN_IF_ERROR(Launch(*plan_.unfold, places.large, places.windows, places));
    }
    if (plan_.copy_small.has_value()) {
      ATTUNE_RETURN_IF_ERROR(Launch(*plan_.copy_small, places.small, places.copied_small, places));
      places.small = places.copied_small;
    }
    ATTUNE_RETURN_IF_ERROR(Multiply(places, round));
    if (!plan_.fold.has_value()) return Status::Ok();
    Fold fold = *plan_.fold;
    fold.bias = places.bias;
    return Launch(fold, places.windows, places.large, places);
  }

  Status Multiply(const Places& places, int64_t round) const {
    const auto at = [&](size_t which) {
      switch (plan_.product.tensors[which]) {
        case ConvTensor::kLarge:
          return places.windows;
        case ConvTensor::kSmall:
          return places.small;
        case ConvTensor::kWeights:
          break;
      }
      return places.weights;
    };
    const bool adds = plan_.computed == ConvTensor::kWeights && round > 0;
    const bool has_bias = plan_.product.gemm.bias != Bias::kNone;
    return product_.Run(algorithm_.algo, {.beta = adds ? 1.0 : 0.0,
                                          .a = at(0),
                                          .b = at(1),
                                          .bias = has_bias ? places.bias : nullptr,
                                          .c = at(2),
                                          .workspace = places.scratch,
                                          .workspace_bytes = algorithm_.workspaceSize,
                                          .stream = places.stream});
  }

  CudaDevice& device_;
  const Conv conv_;
  const ConvImages images_;
  const UnfoldedProduct plan_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
  const TensorLayout layout_;
};

SolverTraits Traits() {
  SolverTraits traits;
  traits.description = "cuBLASLt on unfolded windows: im2col, or its reverse for gradients";
  traits.operator_name = "conv";
  traits.compiles = true;
  // As cuBLASLt's own.
  traits.deterministic = false;
  return traits;
}

class UnfoldedConv final : public LayoutSolver {
 public:
  UnfoldedConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc)
      : LayoutSolver({"cuda.cublaslt-im2col-conv", 1}, Traits(), nvrtc), lt_(lt) {}

 private:
  std::vector<LibraryReport> Libraries() const override {
    return {lt_.Get().report(), nvrtc().report};
  }

  Status CheckTakes(const Problem& problem) const override {
    return UnfoldedProductOf(std::get<Conv>(problem)).status();
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const UnfoldedProduct plan, UnfoldedProductOf(std::get<Conv>(problem)));
    ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product,
                            CublasLtProduct::On(lt_.Get(), device.context(), plan.product.gemm));
    return ListAlgorithms(lt_.Get(), product);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_ASSIGN_OR_RETURN(const UnfoldedProduct plan, UnfoldedProductOf(conv));
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner,
                            ChooseProduct(lt_.Get(), device.context(), plan.product.gemm, config));
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout layout, TensorLayout::Load(device, artifact, conv.type));
    return std::unique_ptr<Executable>(std::make_unique<UnfoldedExecutable>(
        device, conv, plan, std::move(inner), std::move(layout)));
  }

  const Lazy<CublasLt>& lt_;
};

}  // namespace

std::unique_ptr<const Solver> MakeUnfoldedConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<UnfoldedConv>(lt, nvrtc);
}

}  // namespace attune::cuda
