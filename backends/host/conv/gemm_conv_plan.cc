#include "backends/host/conv/gemm_conv_plan.h"

#include <algorithm>
#include <cassert>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "backends/host/conv/tap_conv.h"

namespace attune::host {
namespace {

// How a view is passed to a column-major product.
struct Passed {
  Transpose transpose = Transpose::kNo;
  int64_t leading = 1;
};

Passed Pass(const MatrixView& view) {
  if (view.row_stride == 1) {
    const int64_t leading = view.columns == 1 ? view.rows : view.column_stride;
    return {Transpose::kNo, std::max(leading, view.rows)};
  }
  const int64_t leading = view.rows == 1 ? view.columns : view.row_stride;
  return {Transpose::kYes, std::max(leading, view.columns)};
}

bool AllOnes(const Spatial& spatial) { return spatial == Spatial{1, 1, 1}; }

}  // namespace

MatrixCall CallOf(const MatrixView& c, const MatrixView& a, const MatrixView& b, DataType type) {
  const bool swapped = c.row_stride != 1;
  const MatrixView left = swapped ? b.Transposed() : a;
  const MatrixView right = swapped ? a.Transposed() : b;
  const MatrixView product = swapped ? c.Transposed() : c;
  Gemm gemm = PackedGemm(product.rows, product.columns, left.columns, type);
  const Passed passed_left = Pass(left);
  const Passed passed_right = Pass(right);
  gemm.trans_a = passed_left.transpose;
  gemm.lda = passed_left.leading;
  gemm.trans_b = passed_right.transpose;
  gemm.ldb = passed_right.leading;
  gemm.ldc = product.columns == 1 ? product.rows : product.column_stride;
  return {gemm, swapped};
}

int64_t GemmConvPlan::RowsPerImage(const Conv& conv) {
  const Spatial out = OutputExtent(conv);
  return out[0] * out[1];
}

bool GemmConvPlan::IsPointwise(const Conv& conv) {
  return AllOnes(conv.filter) && conv.pad == Spatial{0, 0, 0};
}

// Backward weights sums over the images, which a batch of products does not do.
bool GemmConvPlan::CanFold(const Conv& conv) {
  if (conv.batch == 1) return false;
  const bool merges = IsChannelsLast(conv.in_layout) && IsChannelsLast(conv.out_layout);
  return merges || conv.direction != ConvDirection::kBackwardWeights;
}

GemmConvPlan::GemmConvPlan(const Conv& conv, int64_t rows) : conv_(conv) {
  columns_.conv = FormOf(conv);
  columns_.pixels_adjacent = !IsChannelsLast(conv.in_layout);
  columns_.taps_fastest = !IsChannelsLast(conv.weights_layout);
  direct_ = IsPointwise(conv) && AllOnes(conv.stride);
  const int64_t per_image = RowsPerImage(conv);
  if (rows > per_image) {
    assert(CanFold(conv));
    units_.push_back({0, conv.batch, 0, per_image});
    return;
  }
  for (int64_t image = 0; image < conv.batch; ++image) {
    for (int64_t i = 0; i < PieceCount(per_image, rows); ++i) {
      const Piece piece = BalancedPiece(per_image, rows, i);
      units_.push_back({image, 1, piece.start, piece.length});
    }
  }
}

bool GemmConvPlan::MergesPixels() const {
  return IsChannelsLast(conv_.in_layout) && IsChannelsLast(conv_.out_layout);
}

int64_t GemmConvPlan::PixelsOf(const GemmUnit& unit) const {
  const int64_t pixels = unit.rows * columns_.conv.y.extents[2];
  return MergesPixels() ? pixels * unit.images : pixels;
}

MatrixView GemmConvPlan::InputView(const GemmUnit& unit) const {
  const int64_t pixels = PixelsOf(unit);
  const int64_t depth = columns_.depth();
  if (direct_) {
    return {depth, pixels, columns_.conv.x.channel_stride, columns_.conv.x.strides[2]};
  }
  if (columns_.pixels_adjacent) return {depth, pixels, pixels, 1};
  return {depth, pixels, 1, depth};
}

MatrixView GemmConvPlan::OutputView(const GemmUnit& unit) const {
  const TensorForm& y = columns_.conv.y;
  return {columns_.conv.out_channels, PixelsOf(unit), y.channel_stride, y.strides[2]};
}

MatrixCall GemmConvPlan::ProductOf(const GemmUnit& unit, bool accumulate) const {
  const MatrixView input = InputView(unit);
  const MatrixView output = OutputView(unit);
  const MatrixView weights = {output.rows, input.rows, input.rows, 1};
  MatrixCall call;
  switch (conv_.direction) {
    case ConvDirection::kForward:
      call = CallOf(output, weights, input, conv_.type);
      break;
    case ConvDirection::kBackwardData:
      call = CallOf(input, weights.Transposed(), output, conv_.type);
      break;
    case ConvDirection::kBackwardWeights:
      call = CallOf(weights, output, input.Transposed(), conv_.type);
      break;
  }
  Gemm& gemm = call.gemm;
  gemm.math = conv_.math;
  gemm.deterministic = conv_.deterministic;
  gemm.alignment_bytes = static_cast<int>(SizeBytes(conv_.type));
  if (accumulate) gemm.beta = ScalarClass::kOne;
  if (unit.images > 1 && !MergesPixels()) {
    const int64_t input_stride =
        direct_ ? columns_.conv.x.outer_stride : columns_.depth() * PixelsOf(unit);
    const int64_t output_stride = columns_.conv.y.outer_stride;
    const bool forward = conv_.direction == ConvDirection::kForward;
    gemm.batch_count = unit.images;
    // In both directions the weights are a, the other factor b, before operands change places.
    const int64_t other = forward ? input_stride : output_stride;
    gemm.stride_a = call.swapped ? other : 0;
    gemm.stride_b = call.swapped ? 0 : other;
    gemm.stride_c = forward ? output_stride : input_stride;
  }
  gemm = Normalized(gemm);
  return call;
}

int64_t GemmConvPlan::InputOffset(const GemmUnit& unit, int64_t group) const {
  const ConvForm& form = columns_.conv;
  int64_t offset =
      unit.first_image * form.x.outer_stride + group * form.in_channels * form.x.channel_stride;
  if (direct_) offset += unit.first_row * form.x.extents[2] * form.x.strides[2];
  return offset;
}

int64_t GemmConvPlan::OutputOffset(const GemmUnit& unit, int64_t group) const {
  const ConvForm& form = columns_.conv;
  return unit.first_image * form.y.outer_stride +
         group * form.out_channels * form.y.channel_stride +
         unit.first_row * form.y.extents[2] * form.y.strides[2];
}

int64_t GemmConvPlan::WeightsOffset(int64_t group) const {
  return group * columns_.conv.out_channels * columns_.conv.w.outer_stride;
}

int64_t GemmConvPlan::column_elements() const {
  if (direct_) return 0;
  int64_t pixels = 0;
  for (const GemmUnit& unit : units_) {
    pixels = std::max(pixels, unit.images * unit.rows * columns_.conv.y.extents[2]);
  }
  return pixels * columns_.depth();
}

}  // namespace attune::host
