#include "backends/cuda/conv/conv_matrices.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/conv/conv_operands.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {
namespace {

Transpose TransposeIf(bool is_transposed) {
  return is_transposed ? Transpose::kYes : Transpose::kNo;
}

bool IsOneMatrix(const PixelMatrix& matrix) {
  return matrix.is_values_inner &&
         matrix.batch.image_stride == matrix.pixels * matrix.batch.leading;
}

// All images as one where their pixels are one sequence on both sides.
ConvFactors Merged(ConvFactors factors) {
  if (!IsOneMatrix(factors.windows) || !IsOneMatrix(factors.small)) return factors;
  if (factors.weights.image_stride != 0) return factors;
  factors.windows.pixels *= factors.images;
  factors.small.pixels *= factors.images;
  factors.images = 1;
  return factors;
}

// One product, and the tensors that are its A, B and C.
struct SingleProduct {
  Gemm gemm;
  std::array<ConvTensor, 3> tensors;
};

SingleProduct SmallFromWindows(const ConvFactors& factors, Gemm gemm) {
  const PixelMatrix& windows = factors.windows;
  gemm.k = windows.values;
  gemm.ldc = factors.small.batch.leading;
  if (factors.small.is_values_inner) {
    gemm.m = factors.small.values;
    gemm.n = windows.pixels;
    gemm.trans_a = Transpose::kYes;
    gemm.lda = factors.weights.leading;
    gemm.trans_b = TransposeIf(!windows.is_values_inner);
    gemm.ldb = windows.batch.leading;
    return {gemm, {ConvTensor::kWeights, ConvTensor::kLarge, ConvTensor::kSmall}};
  }
  gemm.m = windows.pixels;
  gemm.n = factors.small.values;
  gemm.trans_a = TransposeIf(windows.is_values_inner);
  gemm.lda = windows.batch.leading;
  gemm.trans_b = Transpose::kNo;
  gemm.ldb = factors.weights.leading;
  return {gemm, {ConvTensor::kLarge, ConvTensor::kWeights, ConvTensor::kSmall}};
}

SingleProduct WindowsFromSmall(const ConvFactors& factors, Gemm gemm) {
  const PixelMatrix& windows = factors.windows;
  gemm.k = factors.small.values;
  gemm.ldc = windows.batch.leading;
  if (windows.is_values_inner) {
    gemm.m = windows.values;
    gemm.n = windows.pixels;
    gemm.trans_a = Transpose::kNo;
    gemm.lda = factors.weights.leading;
    gemm.trans_b = TransposeIf(!factors.small.is_values_inner);
    gemm.ldb = factors.small.batch.leading;
    return {gemm, {ConvTensor::kWeights, ConvTensor::kSmall, ConvTensor::kLarge}};
  }
  gemm.m = windows.pixels;
  gemm.n = windows.values;
  gemm.trans_a = TransposeIf(factors.small.is_values_inner);
  gemm.lda = factors.small.batch.leading;
  gemm.trans_b = Transpose::kYes;
  gemm.ldb = factors.weights.leading;
  return {gemm, {ConvTensor::kSmall, ConvTensor::kWeights, ConvTensor::kLarge}};
}

SingleProduct WeightsFromBoth(const ConvFactors& factors, Gemm gemm) {
  gemm.m = factors.windows.values;
  gemm.n = factors.small.values;
  gemm.k = factors.windows.pixels;
  gemm.trans_a = TransposeIf(!factors.windows.is_values_inner);
  gemm.lda = factors.windows.batch.leading;
  gemm.trans_b = TransposeIf(factors.small.is_values_inner);
  gemm.ldb = factors.small.batch.leading;
  gemm.ldc = factors.weights.leading;
  return {gemm, {ConvTensor::kLarge, ConvTensor::kSmall, ConvTensor::kWeights}};
}

SingleProduct SingleProductOf(const ConvFactors& factors, const Gemm& terms) {
  switch (factors.computed) {
    case ConvTensor::kSmall:
      return SmallFromWindows(factors, terms);
    case ConvTensor::kLarge:
      return WindowsFromSmall(factors, terms);
    case ConvTensor::kWeights:
      break;
  }
  return WeightsFromBoth(factors, terms);
}

const MatrixBatch& BatchOf(const ConvFactors& factors, ConvTensor tensor) {
  switch (tensor) {
    case ConvTensor::kLarge:
      return factors.windows.batch;
    case ConvTensor::kSmall:
      return factors.small.batch;
    case ConvTensor::kWeights:
      break;
  }
  return factors.weights;
}

// The iteration over the matrices of A, B and C: one strided batch, repeated `count` times.
struct Counting {
  int64_t batch = 1;
  std::array<int64_t, 3> strides = {0, 0, 0};
  int64_t count = 1;
  std::array<int64_t, 3> steps = {0, 0, 0};
};

Counting CountingOf(const ConvFactors& factors, const std::array<ConvTensor, 3>& tensors) {
  Counting by_images{factors.images, {}, factors.groups, {}};
  Counting by_groups{factors.groups, {}, factors.images, {}};
  bool is_one_sequence = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const MatrixBatch& batch = BatchOf(factors, tensors[i]);
    by_images.strides[i] = by_groups.steps[i] = batch.image_stride;
    by_images.steps[i] = by_groups.strides[i] = batch.group_stride;
    is_one_sequence = is_one_sequence && batch.image_stride == factors.groups * batch.group_stride;
  }
  if (is_one_sequence) {
    by_groups.batch *= factors.images;
    by_groups.count = 1;
    return by_groups;
  }
  return by_images.count <= by_groups.count ? by_images : by_groups;
}

Status CheckSize(Gemm gemm) {
  // The alignment is checked elsewhere: partial sums may have a wider type than the one that the
  // alignment of the convolution is stated for.
  gemm.alignment_bytes = 256;
  const Status status = Validate(gemm);
  return status.ok() ? status : Unsupported(status.message());
}

}  // namespace

ConvImages ImagesOf(const Conv& conv) {
  const ConvRoles roles = RolesOf(conv);
  ConvImages images;
  images.large = {conv.in_channels, conv.in, IsChannelsLast(conv.in_layout), roles.x};
  images.small = {conv.out_channels, OutputExtent(conv), IsChannelsLast(conv.out_layout), roles.y};
  images.weights_operand = roles.w;
  switch (conv.direction) {
    case ConvDirection::kForward:
      images.computed = ConvTensor::kSmall;
      break;
    case ConvDirection::kBackwardData:
      images.computed = ConvTensor::kLarge;
      break;
    case ConvDirection::kBackwardWeights:
      images.computed = ConvTensor::kWeights;
      break;
  }
  if (conv.mode == ConvMode::kConvolution) return images;
  std::swap(images.large, images.small);
  if (images.computed == ConvTensor::kSmall) {
    images.computed = ConvTensor::kLarge;
  } else if (images.computed == ConvTensor::kLarge) {
    images.computed = ConvTensor::kSmall;
  }
  return images;
}

size_t OperandOf(const ConvImages& images, ConvTensor tensor) {
  switch (tensor) {
    case ConvTensor::kLarge:
      return images.large.operand;
    case ConvTensor::kSmall:
      return images.small.operand;
    case ConvTensor::kWeights:
      break;
  }
  return images.weights_operand;
}

bool IsPointwise(const Conv& conv) {
  return conv.filter == Spatial{1, 1, 1} && conv.stride == Spatial{1, 1, 1} &&
         conv.pad == Spatial{0, 0, 0} && conv.output_pad == Spatial{0, 0, 0};
}

int64_t WindowValues(const Conv& conv) {
  return ImagesOf(conv).large.channels / conv.groups * conv.filter[0] * conv.filter[1] *
         conv.filter[2];
}

PixelMatrix PixelsOf(const ConvImage& image, int64_t groups) {
  PixelMatrix matrix;
  matrix.is_values_inner = image.is_channels_last || image.pixels() == 1 || image.channels == 1;
  matrix.pixels = image.pixels();
  matrix.values = image.channels / groups;
  matrix.batch.image_stride = image.image_stride();
  if (matrix.is_values_inner) {
    matrix.batch.leading = image.channels;
    matrix.batch.group_stride = matrix.values;
  } else {
    matrix.batch.leading = matrix.pixels;
    matrix.batch.group_stride = matrix.values * matrix.pixels;
  }
  return matrix;
}

Status CheckConvType(DataType type) {
  const bool is_computed = type == DataType::kF64 || type == DataType::kF32 ||
                           type == DataType::kF16 || type == DataType::kBf16;
  if (is_computed) return Status::Ok();
  return Unsupported(
      fmt::format("Convolutions of {} are not computed as products here.", Name(type)));
}

Gemm TermsOf(const Conv& conv) {
  Gemm terms;
  terms.type = conv.type;
  terms.c_type = conv.type;
  terms.math = conv.math;
  terms.alignment_bytes = conv.alignment_bytes;
  terms.deterministic = conv.deterministic;
  return terms;
}

Result<RepeatedProduct> ProductOf(const ConvFactors& factors, const Gemm& terms) {
  const ConvFactors merged = Merged(factors);
  const SingleProduct single = SingleProductOf(merged, terms);
  RepeatedProduct product{single.gemm, 1, {}, single.tensors};
  const bool is_sum = merged.computed == ConvTensor::kWeights && merged.images > 1;
  if (is_sum && merged.weights.image_stride == 0) {
    return Unsupported(
        fmt::format("These weights are a sum over {} images whose pixels are no single matrix.",
                    merged.images));
  }
  const Counting counting = CountingOf(merged, single.tensors);
  product.gemm.batch_count = counting.batch;
  product.gemm.stride_a = counting.strides[0];
  product.gemm.stride_b = counting.strides[1];
  product.gemm.stride_c = counting.strides[2];
  product.gemm = Normalized(product.gemm);
  ATTUNE_RETURN_IF_ERROR(CheckSize(product.gemm));
  if (counting.count > kMostProducts) {
    return Unsupported(fmt::format(
        "{} images of {} groups are {} products, and no more than {} are launched for one "
        "convolution.",
        merged.images, merged.groups, counting.count, kMostProducts));
  }
  if (counting.count == 1) return product;
  product.count = counting.count;
  product.steps = counting.steps;
  const auto element_bytes =
      static_cast<int64_t>(std::min(SizeBytes(terms.type), SizeBytes(terms.c_type)));
  for (const int64_t step : product.steps) {
    product.gemm.alignment_bytes =
        AlignmentBehind(product.gemm.alignment_bytes, step * element_bytes);
  }
  return product;
}

Status AddBias(const Conv& conv, RepeatedProduct& product) {
  if (!conv.bias) return Status::Ok();
  if (conv.groups > 1) {
    return Unsupported(
        "A bias is added to one product of all channels, not to one for each group.");
  }
  if (product.tensors[0] != ConvTensor::kWeights) {
    return Unsupported(
        "The channels of a channels-first output are columns, and cuBLASLt adds a bias to rows.");
  }
  product.gemm.bias = Bias::kPerRow;
  return Status::Ok();
}

int AlignmentBehind(int alignment_bytes, int64_t offset_bytes) {
  while (offset_bytes % alignment_bytes != 0) alignment_bytes /= 2;
  return alignment_bytes;
}

}  // namespace attune::cuda
