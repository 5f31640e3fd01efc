#include "backends/cuda/conv/pointwise_product.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/gemm/cublaslt_product.h"
#include "backends/cuda/layout/tensor_layout.h"

namespace attune::cuda {
namespace {

// The factors as stored in memory.
ConvFactors FactorsOf(const Conv& conv, const ConvImages& images) {
  ConvFactors factors;
  factors.windows = PixelsOf(images.large, conv.groups);
  factors.small = PixelsOf(images.small, conv.groups);
  factors.weights.leading = factors.windows.values;
  factors.weights.group_stride = factors.windows.values * factors.small.values;
  factors.images = conv.batch;
  factors.groups = conv.groups;
  factors.computed = images.computed;
  return factors;
}

Status CheckPointwise(const Conv& conv) {
  if (IsPointwise(conv)) return Status::Ok();
  return Unsupported(
      "Only convolutions by 1 x 1 filters with stride 1 and no padding are products of their "
      "operands as they are.");
}

}  // namespace

Result<RepeatedProduct> PointwiseProduct(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckPointwise(conv));
  ATTUNE_RETURN_IF_ERROR(CheckConvType(conv.type));
  ATTUNE_ASSIGN_OR_RETURN(RepeatedProduct product,
                          ProductOf(FactorsOf(conv, ImagesOf(conv)), TermsOf(conv)));
  ATTUNE_RETURN_IF_ERROR(AddBias(conv, product));
  ATTUNE_RETURN_IF_ERROR(CheckCublasLtTakes(product.gemm));
  return product;
}

size_t PartialProducts::PartialBytes() const {
  return static_cast<size_t>(images * elements) * SizeBytes(product.gemm.c_type);
}

int64_t ImagesAtOnce(int64_t images, int64_t image_bytes, int64_t limit_bytes) {
  const int64_t most = std::clamp<int64_t>(limit_bytes / image_bytes, 1, images);
  int64_t largest = 1;
  // Divisors come in pairs; one of each pair is at most the root.
  for (int64_t divisor = 1; divisor <= images / divisor; ++divisor) {
    if (images % divisor != 0) continue;
    if (divisor <= most) largest = std::max(largest, divisor);
    if (images / divisor <= most) largest = std::max(largest, images / divisor);
  }
  return largest;
}

Result<PartialProducts> PointwisePartialProducts(const Conv& conv, int64_t limit_bytes) {
  ATTUNE_RETURN_IF_ERROR(CheckPointwise(conv));
  ATTUNE_RETURN_IF_ERROR(CheckConvType(conv.type));
  const ConvImages images = ImagesOf(conv);
  if (images.computed != ConvTensor::kWeights) {
    return Unsupported("Only gradients of weights are sums over images.");
  }
  if (PointwiseProduct(conv).ok()) {
    return Unsupported("All images are one matrix, and the gradient of the weights one product.");
  }
  PartialProducts partial;
  partial.elements = images.large.channels / conv.groups * images.small.channels;
  Gemm terms = TermsOf(conv);
  terms.c_type = SumTypeOf(conv.type);
  const auto sum_bytes = static_cast<int64_t>(SizeBytes(terms.c_type));
  if (partial.elements * sum_bytes > limit_bytes) {
    return Unsupported(fmt::format(
        "One partial sum of the weights takes {} bytes, and {} is the most that they may take of "
        "the workspace. Other solvers add up without them.",
        partial.elements * sum_bytes, limit_bytes));
  }
  partial.images = ImagesAtOnce(conv.batch, partial.elements * sum_bytes, limit_bytes);
  partial.rounds = conv.batch / partial.images;
  partial.large_step = partial.images * images.large.image_stride();
  partial.small_step = partial.images * images.small.image_stride();
  const auto element_bytes = static_cast<int64_t>(SizeBytes(conv.type));
  if (partial.rounds > 1) {
    for (const int64_t step : {partial.large_step, partial.small_step}) {
      terms.alignment_bytes = AlignmentBehind(terms.alignment_bytes, step * element_bytes);
    }
  }
  ConvFactors factors = FactorsOf(conv, images);
  factors.images = partial.images;
  factors.weights.image_stride = partial.elements;
  ATTUNE_ASSIGN_OR_RETURN(partial.product, ProductOf(factors, terms));
  if (partial.rounds * partial.product.count > kMostProducts) {
    return Unsupported(
        fmt::format("{} images in {} rounds of {} products are more launches than {}.", conv.batch,
                    partial.rounds, partial.product.count, kMostProducts));
  }
  ATTUNE_RETURN_IF_ERROR(CheckCublasLtTakes(partial.product.gemm));
  return partial;
}

}  // namespace attune::cuda
