// Convolution (cross-correlation, as in deep learning): 2-D and 3-D, all three directions, grouped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attune/base/status.h"
#include "attune/problem/data_type.h"

namespace attune {

enum class ConvDirection {
  kForward,          // y  = conv(x, w)
  kBackwardData,     // dx from dy and w
  kBackwardWeights,  // dw from x and dy
};

enum class ConvMode {
  kConvolution,
  // The forward of this problem is the backward-data of the plain one whose output is this x and
  // whose input is this y; weights are (in_channels, out_channels/groups, ...).
  kTransposed,
};

// Order of dimensions in memory, outermost first, letters as for images. For weights read K for N.
enum class Layout { kNchw, kNhwc, kNcdhw, kNdhwc };

// Extents in the order depth, height, width; depth is 1 (pad 0, stride 1, dilation 1) in 2-D.
using Spatial = std::array<int64_t, 3>;

struct Conv {
  ConvDirection direction = ConvDirection::kForward;
  ConvMode mode = ConvMode::kConvolution;
  int spatial_rank = 2;  // 2 or 3.
  int64_t batch = 1;
  int64_t in_channels = 1;
  int64_t out_channels = 1;
  int64_t groups = 1;  // Divides both channel counts; equal to in_channels in a depthwise one.
  Spatial in = {1, 1, 1};
  Spatial filter = {1, 1, 1};
  Spatial pad = {0, 0, 0};  // On each side.
  Spatial stride = {1, 1, 1};
  Spatial dilation = {1, 1, 1};
  Spatial output_pad = {0, 0, 0};  // Transposed mode only.
  Layout in_layout = Layout::kNchw;
  Layout weights_layout = Layout::kNchw;
  Layout out_layout = Layout::kNchw;
  DataType type = DataType::kF32;
  MathMode math = MathMode::kStrict;
  bool bias = false;  // One value for each output channel, forward only.
  int alignment_bytes = 64;
  bool deterministic = false;

  friend bool operator==(const Conv&, const Conv&) = default;
};

// Spatial extents of the output: floor((in + 2 pad - dilation (filter - 1) - 1) / stride) + 1, and
// for the transposed mode (in - 1) stride - 2 pad + dilation (filter - 1) + output_pad + 1.
Spatial OutputExtent(const Conv& conv);

// NCHW and NHWC are 2-D, NCDHW and NDHWC 3-D.
bool IsChannelsLast(Layout layout);
int SpatialRank(Layout layout);

std::string_view Name(ConvDirection direction);  // "fwd", "bwd_data", "bwd_weights".
std::optional<ConvDirection> ParseConvDirection(std::string_view name);
std::string_view Name(Layout layout);  // "nchw", "nhwc", "ncdhw", "ndhwc".
std::optional<Layout> ParseLayout(std::string_view name);

// What is wrong with `conv`, naming field, value and limit: extents in [1, 2^31), operands below
// 2^40 elements, an output of at least one element, groups that divide, layouts of the right rank,
// bias only in the forward direction, output_pad only in the transposed mode and below the stride,
// alignment and math mode as for a Gemm.
Status Validate(const Conv& conv);

}  // namespace attune
