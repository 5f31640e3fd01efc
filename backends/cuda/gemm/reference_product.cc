#include "backends/cuda/gemm/reference_product.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/ops/conv/conv_operands.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/conv/conv_matrices.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/gemm/reference_product_source.h"

namespace attune::cuda {
namespace {

// The same as in the kernels.
constexpr int64_t kTile = 64;
constexpr unsigned kThreads = 256;
// Enough to keep any device busy; blocks loop over further tiles.
constexpr int64_t kMostBlocks = 1 << 20;
// The kernels add two positions, one of which may be -2^30 (outside): the sum must stay negative.
constexpr int64_t kMostPixels = int64_t{1} << 28;

int NumberOf(DataType type) {
  switch (type) {
    case DataType::kF64:
      return kReferenceF64;
    case DataType::kF32:
      return kReferenceF32;
    case DataType::kF16:
      return kReferenceF16;
    case DataType::kBf16:
      return kReferenceBf16;
    case DataType::kF8E4M3:
      return kReferenceF8E4M3;
    case DataType::kF8E5M2:
      return kReferenceF8E5M2;
    case DataType::kI8:
      return kReferenceI8;
    case DataType::kI32:
      return kReferenceI32;
  }
  return kReferenceF64;
}

int NumberOf(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return kReferencePlain;
    case Activation::kRelu:
      return kReferenceRelu;
    case Activation::kGelu:
      return kReferenceGelu;
    case Activation::kTanh:
      return kReferenceTanh;
    case Activation::kSigmoid:
      return kReferenceSigmoid;
  }
  return kReferencePlain;
}

// Without inner digits.
Factor MatrixFactor() {
  Factor factor = {};
  std::fill(std::begin(factor.divisor), std::end(factor.divisor), 1);
  std::fill(std::begin(factor.extent), std::end(factor.extent), 1);
  return factor;
}

ReferencePlan PlanOfGemm(const Gemm& gemm) {
  ReferencePlan plan = {};
  ReferenceProduct& product = plan.product;
  product.count = gemm.batch_count;
  product.m = gemm.m;
  product.n = gemm.n;
  product.k = gemm.k;
  std::fill(std::begin(product.n_extents), std::end(product.n_extents), 1);
  std::fill(std::begin(product.k_extents), std::end(product.k_extents), 1);
  const bool turns_a = gemm.trans_a == Transpose::kYes;
  product.a = MatrixFactor();
  product.a.product = gemm.stride_a;
  product.a.k = turns_a ? 1 : gemm.lda;
  product.a.out = turns_a ? gemm.lda : 1;
  const bool turns_b = gemm.trans_b == Transpose::kYes;
  product.b = MatrixFactor();
  product.b.product = gemm.stride_b;
  product.b.k = turns_b ? gemm.ldb : 1;
  product.b.out = turns_b ? 1 : gemm.ldb;
  product.to_place = {gemm.stride_c, 1, gemm.ldc, {}};
  product.bias_place = {0, gemm.bias == Bias::kPerRow, gemm.bias == Bias::kPerColumn, {}};
  product.activation = NumberOf(gemm.activation);
  if (gemm.bias != Bias::kNone) plan.bias = 2;
  if (gemm.beta != ScalarClass::kZero) plan.initial = plan.bias.has_value() ? 3 : 2;
  return plan;
}

void SetExtents(const Spatial& from, int (&to)[3]) {
  for (size_t i = 0; i < 3; ++i) to[i] = static_cast<int>(from[i]);
}

// A tensor of a convolution: an image, or weights as an image with taps for pixels.
struct Volume {
  int64_t channels = 1;  // Per group; for weights, those of the small image.
  Spatial extents = {1, 1, 1};
  int64_t outer = 0;  // Distances in elements.
  int64_t channel = 0;
  Spatial pixel = {0, 0, 0};

  int64_t pixels() const { return extents[0] * extents[1] * extents[2]; }
};

Volume VolumeOf(const ConvImage& image, const Conv& conv) {
  return {image.channels / conv.groups, image.extents, image.image_stride(), image.channel_stride(),
          image.pixel_strides()};
}

Volume WeightsOf(const ConvImages& images, const Conv& conv) {
  const std::vector<Operand> operands = Operands(Problem(conv));
  const TensorDesc& tensor = operands[images.weights_operand].tensor;
  Volume weights{images.small.channels / conv.groups, conv.filter, tensor.strides[0],
                 tensor.strides[1]};
  std::copy_backward(tensor.strides.begin() + 2, tensor.strides.end(), weights.pixel.end());
  return weights;
}

// The factor over `volume` that has its positions as the inner digits of k.
Factor FactorByTerms(const Volume& volume) {
  Factor factor = MatrixFactor();
  SetExtents(volume.extents, factor.extent);
  std::copy(volume.pixel.begin(), volume.pixel.end(), factor.step);
  std::fill(std::begin(factor.k_at), std::end(factor.k_at), 1);
  return factor;
}

Destination DestinationIn(const Volume& image) {
  Destination place = {image.channels * image.channel, image.channel, image.outer, {}};
  std::copy(image.pixel.begin(), image.pixel.end(), place.step);
  return place;
}

// As in attune/ops/conv/reference.cc, a position q of the small image and a tap f of the filter
// meet the large image at q * stride - pad + f * dilation.
struct ConvVolumes {
  Volume large, small, weights;
  const Conv& conv;
};

// image(channel, position) = sum over (channel of `other`, tap) of weights * other. The caller sets
// the strides that make weights and positions meet.
ReferenceProduct ImageProduct(const ConvVolumes& volumes, const Volume& image,
                              const Volume& other) {
  ReferenceProduct product = {};
  product.m = image.channels;
  product.n = volumes.conv.batch * image.pixels();
  product.k = other.channels * volumes.weights.pixels();
  SetExtents(image.extents, product.n_extents);
  SetExtents(volumes.conv.filter, product.k_extents);
  product.a = FactorByTerms(volumes.weights);
  product.a.product = volumes.small.channels * volumes.weights.outer;
  product.b = FactorByTerms(other);
  product.b.product = other.channels * other.channel;
  product.b.out = other.outer;
  product.b.k = other.channel;
  product.to_place = DestinationIn(image);
  product.bias_place = {image.channels, 1, 0, {}};
  return product;
}

// The plain forward.
ReferenceProduct SmallFromLarge(const ConvVolumes& volumes) {
  ReferenceProduct product = ImageProduct(volumes, volumes.small, volumes.large);
  product.a.out = volumes.weights.outer;
  product.a.k = volumes.weights.channel;
  for (size_t i = 0; i < 3; ++i) {
    product.b.k_at[i] = static_cast<int>(volumes.conv.dilation[i]);
    product.b.out_at[i] = static_cast<int>(volumes.conv.stride[i]);
    product.b.at[i] = static_cast<int>(-volumes.conv.pad[i]);
  }
  return product;
}

// The plain backward data: the stride divides the position that the tap has moved.
ReferenceProduct LargeFromSmall(const ConvVolumes& volumes) {
  ReferenceProduct product = ImageProduct(volumes, volumes.large, volumes.small);
  product.a.out = volumes.weights.channel;
  product.a.k = volumes.weights.outer;
  for (size_t i = 0; i < 3; ++i) {
    product.b.k_at[i] = static_cast<int>(-volumes.conv.dilation[i]);
    product.b.out_at[i] = 1;
    product.b.at[i] = static_cast<int>(volumes.conv.pad[i]);
    product.b.divisor[i] = static_cast<int>(volumes.conv.stride[i]);
  }
  return product;
}

// weights(small channel, (large channel, tap)) = sum over positions of small * large.
ReferenceProduct WeightsFromImages(const ConvVolumes& volumes) {
  const auto& [large, small, weights, conv] = volumes;
  ReferenceProduct product = {};
  product.m = small.channels;
  product.n = large.channels * weights.pixels();
  product.k = conv.batch * small.pixels();
  SetExtents(conv.filter, product.n_extents);
  SetExtents(small.extents, product.k_extents);
  product.a = FactorByTerms(small);
  product.a.product = small.channels * small.channel;
  product.a.out = small.channel;
  product.a.k = small.outer;
  product.b = FactorByTerms(large);
  product.b.product = large.channels * large.channel;
  product.b.out = large.channel;
  product.b.k = large.outer;
  for (size_t i = 0; i < 3; ++i) {
    product.b.k_at[i] = static_cast<int>(conv.stride[i]);
    product.b.out_at[i] = static_cast<int>(conv.dilation[i]);
    product.b.at[i] = static_cast<int>(-conv.pad[i]);
  }
  product.to_place = {small.channels * weights.outer, weights.outer, weights.channel, {}};
  std::copy(weights.pixel.begin(), weights.pixel.end(), product.to_place.step);
  return product;
}

Status CheckPositions(const Conv& conv) {
  const Spatial out = OutputExtent(conv);
  for (size_t i = 0; i < 3; ++i) {
    // Above every position, including taps beside the image.
    const int64_t most = std::max(conv.in[i], out[i]) + 2 * conv.pad[i] +
                         conv.filter[i] * conv.dilation[i] + conv.stride[i];
    if (most > kMostPixels) {
      return Unsupported(
          fmt::format("Positions of the windows reach {} along one axis; references on this device "
                      "are computed "
                      "for at most {}.",
                      most, kMostPixels));
    }
  }
  return Status::Ok();
}

ReferencePlan PlanOfConv(const Conv& conv) {
  const ConvImages images = ImagesOf(conv);
  const ConvVolumes volumes = {VolumeOf(images.large, conv), VolumeOf(images.small, conv),
                               WeightsOf(images, conv), conv};
  ReferencePlan plan = {};
  plan.a = images.weights_operand;
  switch (images.computed) {
    case ConvTensor::kSmall:
      plan.product = SmallFromLarge(volumes);
      plan.b = images.large.operand;
      break;
    case ConvTensor::kLarge:
      plan.product = LargeFromSmall(volumes);
      plan.b = images.small.operand;
      break;
    case ConvTensor::kWeights:
      plan.product = WeightsFromImages(volumes);
      plan.a = images.small.operand;
      plan.b = images.large.operand;
      break;
  }
  if (conv.bias) plan.bias = RolesOf(conv).bias;
  plan.product.count = conv.groups;
  return plan;
}

}  // namespace

Result<BuildRecipe> ReferenceProductRecipe(const Nvrtc& nvrtc, const std::string& arch) {
  return MakeRecipe(nvrtc, std::string(kReferenceProductSource), "", arch);
}

bool IsExact(const Problem& problem) {
  return Operands(problem).front().tensor.type == DataType::kF64;
}

Result<ReferencePlan> PlanOf(const Problem& problem) {
  const std::vector<Operand> operands = Operands(problem);
  if (operands.empty()) {
    return Unsupported(fmt::format(
        "Operator {} has no reference on this device; gemm and conv have.", OperatorName(problem)));
  }
  ReferencePlan plan = {};
  if (const auto* gemm = problem.As<Gemm>()) {
    plan = PlanOfGemm(*gemm);
  } else if (const auto* conv = problem.As<Conv>()) {
    ATTUNE_RETURN_IF_ERROR(CheckPositions(*conv));
    plan = PlanOfConv(*conv);
  } else {
    return Unsupported(fmt::format(
        "Operator {} has no reference on this device; gemm and conv have.", OperatorName(problem)));
  }
  plan.product.a.type = plan.product.b.type = NumberOf(operands.front().tensor.type);
  plan.product.output_type = NumberOf(operands.back().tensor.type);
  return plan;
}

ReferenceProduct BoundTo(const ReferencePlan& plan, const Arguments& arguments) {
  const auto& operands = arguments.operands;
  ReferenceProduct product = plan.product;
  product.a.from = AddressOf(operands[plan.a]);
  product.b.from = AddressOf(operands[plan.b]);
  if (plan.bias.has_value()) product.bias = AddressOf(operands[*plan.bias]);
  if (plan.initial.has_value()) product.initial = AddressOf(operands[*plan.initial]);
  product.to = static_cast<double*>(AddressOf(operands.back()));
  product.alpha = arguments.alpha;
  product.beta = arguments.beta;
  return product;
}

LaunchShape ShapeOf(const ReferenceProduct& product) {
  const auto tiles = [](int64_t extent) { return (extent + kTile - 1) / kTile; };
  const int64_t all = product.count * tiles(product.m) * tiles(product.n);
  LaunchShape shape;
  shape.block[0] = kThreads;
  shape.grid[0] = static_cast<unsigned>(std::min(all, kMostBlocks));
  return shape;
}

}  // namespace attune::cuda
