#include "backends/cuda/conv/unfolded_conv.h"

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "attune/ops/conv/conv_operands.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/conv/product_conv.h"
#include "backends/cuda/conv/unfolded_product.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

class UnfoldedExecutable final : public Executable {
 public:
  UnfoldedExecutable(CudaDevice& device, const Conv& conv, const UnfoldedProduct& plan,
                     std::unique_ptr<Executable> inner, TensorLayout layout)
      : device_(device),
        conv_(conv),
        images_(ImagesOf(conv)),
        plan_(plan),
        inner_(std::move(inner)),
        layout_(std::move(layout)) {}

  size_t workspace_bytes() const override {
    return plan_.WorkspaceBytes() + ScratchBytes(inner_->workspace_bytes());
  }

  bool is_concurrent() const override { return inner_->is_concurrent(); }

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
  // Addresses of one round.
  struct Places {
    std::byte* large;
    std::byte* small;
    std::byte* weights;
    std::byte* bias;
    std::byte* windows;
    std::byte* copied_small;
    std::byte* copied_weights;
    std::byte* sums;
    std::byte* scratch;  // For the product.
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
    const BufferView bias = has_bias ? BufferView{places.bias} : BufferView();
    return RunInner(*inner_,
                    {at(0), at(1), bias, at(2), {places.scratch}, adds ? 1.0 : 0.0, places.stream});
  }

  CudaDevice& device_;
  const Conv conv_;
  const ConvImages images_;
  const UnfoldedProduct plan_;
  const std::unique_ptr<Executable> inner_;
  const TensorLayout layout_;
};

class UnfoldedConv final : public ConvByProduct {
 public:
  Result<Inner> InnerOf(const Conv& conv) const override {
    ATTUNE_ASSIGN_OR_RETURN(const UnfoldedProduct plan, UnfoldedProductOf(conv));
    return Inner{plan.product.gemm, plan.computed == ConvTensor::kWeights && plan.rounds > 1};
  }

  bool has_kernels() const override { return true; }

  Result<std::unique_ptr<Executable>> Load(CudaDevice& device, const Artifact& artifact,
                                           const Conv& conv,
                                           std::unique_ptr<Executable> inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(const UnfoldedProduct plan, UnfoldedProductOf(conv));
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout layout, TensorLayout::Load(device, artifact, conv.type));
    return std::unique_ptr<Executable>(std::make_unique<UnfoldedExecutable>(
        device, conv, plan, std::move(inner), std::move(layout)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakeUnfoldedConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc) {
  return MakeCublasLtConv({"cuda.cublaslt-im2col-conv",
                           "cuBLASLt on unfolded windows: im2col, or its reverse for gradients"},
                          std::make_unique<UnfoldedConv>(), lt, nvrtc);
}

std::unique_ptr<const Solver> MakeUnfoldedProductConv(std::vector<const Solver*> products,
                                                      const Lazy<Nvrtc>& nvrtc) {
  return MakeInnerProductConv(
      {"cuda.unfolded-product-conv", "Unfolded windows (im2col) by any other solver of products"},
      std::make_unique<UnfoldedConv>(), std::move(products), nvrtc);
}

}  // namespace attune::cuda
