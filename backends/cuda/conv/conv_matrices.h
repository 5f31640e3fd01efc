// A convolution as products of matrices: its images and weights, their form as matrices of pixels,
// and the product that computes one of them from the other two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {

// The three tensors of a convolution in any direction. Position q of the small image and tap f of
// the filter meet the large image at q * stride - pad + f * dilation. The large image is x, and y
// in the transposed mode.
enum class ConvTensor { kLarge, kSmall, kWeights };

struct ConvImage {
  int64_t channels = 1;  // In all groups.
  Spatial extents = {1, 1, 1};
  bool is_channels_last = false;
  size_t operand = 0;  // Index into Operands(conv).

  int64_t pixels() const { return extents[0] * extents[1] * extents[2]; }
  // Distances in elements.
  int64_t image_stride() const { return channels * pixels(); }
  int64_t channel_stride() const { return is_channels_last ? 1 : pixels(); }
  Spatial pixel_strides() const {
    const int64_t column = is_channels_last ? channels : 1;
    return {extents[1] * extents[2] * column, extents[2] * column, column};
  }
};

struct ConvImages {
  ConvImage large;
  ConvImage small;
  size_t weights_operand = 0;
  ConvTensor computed = ConvTensor::kSmall;
};
ConvImages ImagesOf(const Conv& conv);
// Index into Operands(conv).
size_t OperandOf(const ConvImages& images, ConvTensor tensor);

// True for a 1 x 1 filter without stride and padding: the windows of the large image are its
// pixels.
bool IsPointwise(const Conv& conv);

// Elements of the weights of one small channel: channels of a group times taps.
int64_t WindowValues(const Conv& conv);

// Matrices of a batch, one for each image and group; distances in elements.
struct MatrixBatch {
  int64_t leading = 0;
  int64_t image_stride = 0;
  int64_t group_stride = 0;
};

// An image, or the windows of one. Column-major, as products take it.
struct PixelMatrix {
  // True if the values of a pixel (its channels, or channels times taps) are contiguous, stored as
  // values x pixels. Otherwise the pixels of a value are contiguous: pixels x values.
  bool is_values_inner = false;
  int64_t pixels = 0;  // Per image.
  int64_t values = 0;  // Per group.
  MatrixBatch batch;
};
// The image as stored in memory. Values are also inner with one pixel or one channel, where both
// orders are the same: then the images of a batch are one matrix.
PixelMatrix PixelsOf(const ConvImage& image, int64_t groups);

// The factors of a product. The weights are stored as values of `windows` x values of `small`.
struct ConvFactors {
  PixelMatrix windows;
  PixelMatrix small;
  // Has an image_stride if every image has weights of its own: partial sums of a gradient.
  MatrixBatch weights;
  int64_t images = 1;
  int64_t groups = 1;
  ConvTensor computed = ConvTensor::kSmall;
};

// One product that is run several times. Each run advances the operands by `steps` elements. A
// strided batch iterates over images or groups, and not over both if their matrices are no
// arithmetic sequence.
struct RepeatedProduct {
  Gemm gemm;
  int64_t count = 1;
  std::array<int64_t, 3> steps = {0, 0, 0};  // For A, B and C.
  std::array<ConvTensor, 3> tensors = {};    // Which tensor is A, B, C.
};

// Ok, or kUnsupported: convolutions of f64, f32, f16 and bf16 are computed as products.
Status CheckConvType(DataType type);

// Types, math and promises of `conv`; no extents.
Gemm TermsOf(const Conv& conv);

// The product of `factors` with the types and promises of `terms`. kUnsupported where it would be
// the sum of several (weights of images that are no single matrix), more than kMostProducts, or
// larger than a product may be.
Result<RepeatedProduct> ProductOf(const ConvFactors& factors, const Gemm& terms);

// The most products that a convolution is cut into: each costs a launch, some microseconds.
inline constexpr int64_t kMostProducts = 64;

// Adds the bias of `conv` to `product`, if it has one. kUnsupported if its channels are no rows of
// C or belong to several groups: cuBLASLt adds a bias to rows only.
Status AddBias(const Conv& conv, RepeatedProduct& product);

// The alignment of an address `offset_bytes` behind one that is a multiple of `alignment_bytes`.
int AlignmentBehind(int alignment_bytes, int64_t offset_bytes);

}  // namespace attune::cuda
