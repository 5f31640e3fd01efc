#include "backends/cuda/pointwise_conv.h"

#include <array>
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
#include "backends/cuda/library_solver.h"
#include "backends/cuda/pointwise_product.h"
#include "backends/cuda/scratch.h"
#include "backends/cuda/tensor_layout.h"

namespace attune::cuda {
namespace {

class PointwiseExecutable final : public Executable {
 public:
  PointwiseExecutable(CudaDevice& device, const Conv& conv, const RepeatedProduct& repeated,
                      ChosenProduct inner)
      : device_(device),
        conv_(conv),
        images_(ImagesOf(conv)),
        repeated_(repeated),
        product_(std::move(inner.product)),
        algorithm_(inner.algorithm) {}

  size_t workspace_bytes() const override { return ScratchBytes(algorithm_.workspaceSize); }

  // As cuBLASLt's own.
  bool is_concurrent() const override { return !conv_.bias; }

  Status Run(const Arguments& arguments) override {
    ATTUNE_RETURN_IF_ERROR(device_.Enter());
    const auto& operands = arguments.operands;
    std::array<std::byte*, 3> places = {};
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = BytesAt(operands[OperandOf(images_, repeated_.tensors[i])]);
    }
    const auto element_bytes = static_cast<int64_t>(SizeBytes(conv_.type));
    for (int64_t time = 0; time < repeated_.count; ++time) {
      ATTUNE_RETURN_IF_ERROR(product_.Run(
          algorithm_.algo, {.a = places[0],
                            .b = places[1],
                            .bias = conv_.bias ? BytesAt(operands[RolesOf(conv_).bias]) : nullptr,
                            .c = places[2],
                            .workspace = AddressOf(arguments.workspace),
                            .workspace_bytes = algorithm_.workspaceSize,
                            .stream = device_.StreamOf(arguments)}));
      for (size_t i = 0; i < places.size(); ++i) places[i] += repeated_.steps[i] * element_bytes;
    }
    return Status::Ok();
  }

 private:
  CudaDevice& device_;
  const Conv conv_;
  const ConvImages images_;
  const RepeatedProduct repeated_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
};

SolverTraits PointwiseTraits() {
  SolverTraits traits;
  traits.description = "cuBLASLt: 1x1 convolutions as products of their operands as they are";
  traits.operator_name = "conv";
  traits.instant = true;
  // As cuBLASLt's own.
  traits.deterministic = false;
  return traits;
}

class PointwiseConv final : public LibrarySolver {
 public:
  explicit PointwiseConv(const Lazy<CublasLt>& lt)
      : LibrarySolver({"cuda.cublaslt-pointwise-conv", 1}, PointwiseTraits()), lt_(lt) {}

 private:
  std::vector<LibraryReport> Libraries() const override { return {lt_.Get().report()}; }

  Status CheckTakes(const Problem& problem) const override {
    return PointwiseProduct(std::get<Conv>(problem)).status();
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const RepeatedProduct repeated,
                            PointwiseProduct(std::get<Conv>(problem)));
    ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product,
                            CublasLtProduct::On(lt_.Get(), device.context(), repeated.gemm));
    return ListAlgorithms(lt_.Get(), product);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact&,
                                             const Problem& problem,
                                             const Config& config) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_ASSIGN_OR_RETURN(const RepeatedProduct repeated, PointwiseProduct(conv));
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner,
                            ChooseProduct(lt_.Get(), device.context(), repeated.gemm, config));
    return std::unique_ptr<Executable>(
        std::make_unique<PointwiseExecutable>(device, conv, repeated, std::move(inner)));
  }

  const Lazy<CublasLt>& lt_;
};

class PointwiseWeightsExecutable final : public Executable {
 public:
  PointwiseWeightsExecutable(CudaDevice& device, const Conv& conv, const PartialProducts& partial,
                             ChosenProduct inner, TensorLayout layout)
      : device_(device),
        images_(ImagesOf(conv)),
        element_bytes_(static_cast<int64_t>(SizeBytes(conv.type))),
        partial_(partial),
        product_(std::move(inner.product)),
        algorithm_(inner.algorithm),
        layout_(std::move(layout)) {}

  size_t workspace_bytes() const override {
    return ScratchBytes(partial_.PartialBytes()) + ScratchBytes(algorithm_.workspaceSize);
  }

  // As cuBLASLt's own.
  bool is_concurrent() const override { return true; }

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
    const std::byte* large = BytesAt(arguments.operands[images_.large.operand]);
    const std::byte* small = BytesAt(arguments.operands[images_.small.operand]);
    large += round * partial_.large_step * element_bytes_;
    small += round * partial_.small_step * element_bytes_;
    std::byte* const sums = BytesAt(arguments.workspace);
    const auto sum_bytes = static_cast<int64_t>(SizeBytes(repeated.gemm.c_type));
    for (int64_t time = 0; time < repeated.count; ++time) {
      ATTUNE_RETURN_IF_ERROR(
          product_.Run(algorithm_.algo, {.beta = round == 0 ? 0.0 : 1.0,
                                         .a = large + time * repeated.steps[0] * element_bytes_,
                                         .b = small + time * repeated.steps[1] * element_bytes_,
                                         .c = sums + time * repeated.steps[2] * sum_bytes,
                                         .workspace = sums + ScratchBytes(partial_.PartialBytes()),
                                         .workspace_bytes = algorithm_.workspaceSize,
                                         .stream = device_.StreamOf(arguments)}));
    }
    return Status::Ok();
  }

  CudaDevice& device_;
  const ConvImages images_;
  const int64_t element_bytes_;
  const PartialProducts partial_;
  const CublasLtProduct product_;
  const cublasLtMatmulHeuristicResult_t algorithm_;
  const TensorLayout layout_;
};

SolverTraits PointwiseWeightsTraits() {
  SolverTraits traits;
  traits.description = "cuBLASLt: gradients of 1x1 filters image by image, then added up";
  traits.operator_name = "conv";
  traits.compiles = true;
  // As cuBLASLt's own.
  traits.deterministic = false;
  return traits;
}

class PointwiseWeightsConv final : public LayoutSolver {
 public:
  PointwiseWeightsConv(const Lazy<CublasLt>& lt, const Lazy<Nvrtc>& nvrtc)
      : LayoutSolver({"cuda.cublaslt-pointwise-weights-conv", 1}, PointwiseWeightsTraits(), nvrtc),
        lt_(lt) {}

 private:
  std::vector<LibraryReport> Libraries() const override {
    return {lt_.Get().report(), nvrtc().report};
  }

  Status CheckTakes(const Problem& problem) const override {
    return PointwisePartialProducts(std::get<Conv>(problem)).status();
  }

  Result<std::vector<Config>> List(CudaDevice& device, const Problem& problem) const override {
    ATTUNE_ASSIGN_OR_RETURN(const PartialProducts partial,
                            PointwisePartialProducts(std::get<Conv>(problem)));
    ATTUNE_ASSIGN_OR_RETURN(const CublasLtProduct product,
                            CublasLtProduct::On(lt_.Get(), device.context(), partial.product.gemm));
    return ListAlgorithms(lt_.Get(), product);
  }

  Result<std::unique_ptr<Executable>> LoadOn(CudaDevice& device, const Artifact& artifact,
                                             const Problem& problem,
                                             const Config& config) const override {
    const Conv& conv = std::get<Conv>(problem);
    ATTUNE_ASSIGN_OR_RETURN(const PartialProducts partial, PointwisePartialProducts(conv));
    ATTUNE_ASSIGN_OR_RETURN(ChosenProduct inner, ChooseProduct(lt_.Get(), device.context(),
                                                               partial.product.gemm, config));
    ATTUNE_ASSIGN_OR_RETURN(TensorLayout layout, TensorLayout::Load(device, artifact, conv.type));
    return std::unique_ptr<Executable>(std::make_unique<PointwiseWeightsExecutable>(
        device, conv, partial, std::move(inner), std::move(layout)));
  }

  const Lazy<CublasLt>& lt_;
};

}  // namespace

std::unique_ptr<const Solver> MakePointwiseConv(const Lazy<CublasLt>& lt) {
  return std::make_unique<PointwiseConv>(lt);
}

std::unique_ptr<const Solver> MakePointwiseWeightsConv(const Lazy<CublasLt>& lt,
                                                       const Lazy<Nvrtc>& nvrtc) {
  return std::make_unique<PointwiseWeightsConv>(lt, nvrtc);
}

}  // namespace attune::cuda
