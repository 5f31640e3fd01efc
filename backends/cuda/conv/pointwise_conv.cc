#include "backends/cuda/conv/pointwise_conv.h"

#include <array>
#include <cstddef>
#include <utility>

#include "attune/ops/conv/conv_operands.h"
#include "backends/cuda/conv/pointwise_product.h"
#include "backends/cuda/conv/product_conv.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

class PointwiseExecutable final : public Executable {
 public:
  PointwiseExecutable(const Conv& conv, const RepeatedProduct& repeated,
                      std::unique_ptr<Executable> inner)
      : conv_(conv), images_(ImagesOf(conv)), repeated_(repeated), inner_(std::move(inner)) {}

  size_t workspace_bytes() const override { return inner_->workspace_bytes(); }

  bool is_concurrent() const override { return inner_->is_concurrent(); }

  Status Run(const Arguments& arguments) override {
    const auto& operands = arguments.operands;
    std::array<std::byte*, 3> places = {};
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = BytesAt(operands[OperandOf(images_, repeated_.tensors[i])]);
    }
    const auto element_bytes = static_cast<int64_t>(SizeBytes(conv_.type));
    for (int64_t time = 0; time < repeated_.count; ++time) {
      const BufferView bias = conv_.bias ? operands[RolesOf(conv_).bias] : BufferView();
      ATTUNE_RETURN_IF_ERROR(RunInner(*inner_, {places[0], places[1], bias, places[2],
                                                arguments.workspace, 0, arguments.queue}));
      for (size_t i = 0; i < places.size(); ++i) places[i] += repeated_.steps[i] * element_bytes;
    }
    return Status::Ok();
  }

 private:
  const Conv conv_;
  const ConvImages images_;
  const RepeatedProduct repeated_;
  const std::unique_ptr<Executable> inner_;
};

class PointwiseConv final : public ConvByProduct {
 public:
  Result<Inner> InnerOf(const Conv& conv) const override {
    ATTUNE_ASSIGN_OR_RETURN(const RepeatedProduct repeated, PointwiseProduct(conv));
    return Inner{repeated.gemm};
  }

  bool has_kernels() const override { return false; }

  Result<std::unique_ptr<Executable>> Load(CudaDevice&, const Artifact&, const Conv& conv,
                                           std::unique_ptr<Executable> inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(const RepeatedProduct repeated, PointwiseProduct(conv));
    return std::unique_ptr<Executable>(
        std::make_unique<PointwiseExecutable>(conv, repeated, std::move(inner)));
  }
};

class PointwiseWeightsExecutable final : public Executable {
 public:
  PointwiseWeightsExecutable(CudaDevice& device, const Conv& conv, const PartialProducts& partial,
                             std::unique_ptr<Executable> inner, TensorLayout layout)
      : device_(device),
        images_(ImagesOf(conv)),
        element_bytes_(static_cast<int64_t>(SizeBytes(conv.type))),
        partial_(partial),
        inner_(std::move(inner)),
        layout_(std::move(layout)) {}

  size_t workspace_bytes() const override {
    return ScratchBytes(partial_.PartialBytes()) + ScratchBytes(inner_->workspace_bytes());
  }

  bool is_concurrent() const override { return inner_->is_concurrent(); }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    for (int64_t round = 0; round < partial_.rounds; ++round) {
      ATTUNE_RETURN_IF_ERROR(AddRound(arguments, round));
    }
    PartialSums sums = {};
    sums.from = BytesAt(arguments.workspace);
    sums.to = BytesAt(arguments.operands[images_.weights_operand]);
    sums.parts = partial_.images;
    sums.from_part = partial_.elements;
    sums.rows = sums.from_leading = sums.to_leading = partial_.elements;
    sums.columns = 1;
    return layout_.Launch(sums, device_.StreamOf(arguments));
  }

 private:
  Status AddRound(const Arguments& arguments, int64_t round) const {
    const RepeatedProduct& repeated = partial_.product;
    // A is the large image and B the small one, as ever where weights are computed.
    std::byte* large = BytesAt(arguments.operands[images_.large.operand]);
    std::byte* small = BytesAt(arguments.operands[images_.small.operand]);
    large += round * partial_.large_step * element_bytes_;
    small += round * partial_.small_step * element_bytes_;
    std::byte* const sums = BytesAt(arguments.workspace);
    const auto sum_bytes = static_cast<int64_t>(SizeBytes(repeated.gemm.c_type));
    for (int64_t time = 0; time < repeated.count; ++time) {
      InnerCall call;
      call.a = large + time * repeated.steps[0] * element_bytes_;
      call.b = small + time * repeated.steps[1] * element_bytes_;
      call.c = sums + time * repeated.steps[2] * sum_bytes;
      call.workspace = {sums + ScratchBytes(partial_.PartialBytes())};
      call.beta = round == 0 ? 0.0 : 1.0;
      call.queue = arguments.queue;
      ATTUNE_RETURN_IF_ERROR(RunInner(*inner_, call));
    }
    return Status::Ok();
  }

  CudaDevice& device_;
  const ConvImages images_;
  const int64_t element_bytes_;
  const PartialProducts partial_;
  const std::unique_ptr<Executable> inner_;
  const TensorLayout layout_;
};

class PointwiseWeightsConv final : public ConvByProduct {
 public:
  Result<Inner> InnerOf(const Conv& conv) const override {
    ATTUNE_ASSIGN_OR_RETURN(const PartialProducts partial, PointwisePartialProducts(conv));
    return Inner{partial.product.gemm, partial.rounds > 1};
  }

  bool has_kernels() const override { return true; }

  Result<std::unique_ptr<Executable>> Load(CudaDevice& device, const Artifact& artifact,
                                           const Conv& conv,
                                           std::unique_ptr<Executable> inner) const override {
    ATTUNE_ASSIGN_OR_RETURN(const PartialProducts partial, PointwisePartialProducts(conv));
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout layout, TensorLayout::Load(device, artifact, conv.type));
    return std::unique_ptr<Executable>(std::make_unique<PointwiseWeightsExecutable>(
        device, conv, partial, std::move(inner), std::move(layout)));
  }
};

}  // namespace

std::unique_ptr<const Solver> MakePointwiseConv(const Lazy<CublasLt>& lt,
                                                const Lazy<Nvrtc>& nvrtc) {
  return MakeCublasLtConv({"cuda.cublaslt-pointwise-conv",
                           "cuBLASLt: 1x1 convolutions as products of their operands as they are"},
                          std::make_unique<PointwiseConv>(), lt, nvrtc);
}

std::unique_ptr<const Solver> MakePointwiseWeightsConv(const Lazy<CublasLt>& lt,
                                                       const Lazy<Nvrtc>& nvrtc) {
  return MakeCublasLtConv({"cuda.cublaslt-pointwise-weights-conv",
                           "cuBLASLt: gradients of 1x1 filters image by image, then added up"},
                          std::make_unique<PointwiseWeightsConv>(), lt, nvrtc);
}

std::unique_ptr<const Solver> MakePointwiseProductConv(std::vector<const Solver*> products,
                                                       const Lazy<Nvrtc>& nvrtc) {
  return MakeInnerProductConv(
      {"cuda.pointwise-product-conv", "1x1 convolutions by any other solver of products"},
      std::make_unique<PointwiseConv>(), std::move(products), nvrtc);
}

std::unique_ptr<const Solver> MakePointwiseWeightsProductConv(std::vector<const Solver*> products,
                                                              const Lazy<Nvrtc>& nvrtc) {
  return MakeInnerProductConv(
      {"cuda.pointwise-weights-product-conv",
       "Gradients of 1x1 filters image by image by any other solver of products, then added up"},
      std::make_unique<PointwiseWeightsConv>(), std::move(products), nvrtc);
}

}  // namespace attune::cuda
