// Convolution (cross-correlation, as in deep learning): 2-D and 3-D, all three directions, grouped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/data_type.h"
#include "attune/base/status.h"
#include "attune/problem/layout.h"

namespace attune {

enum class ConvDirection {
  kForward,          // y  = conv(x, w)
  kBackwardData,     // dx from dy and w
  kBackwardWeights,  // dw from x and dy
};

enum class ConvMode {
  kConvolution,
  // The forward of this problem is the backward-data of the plain one with this x as its output and
  // this y as its input; weights are (in_channels, out_channels/groups, ...).
  kTransposed,
};

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

std::string_view Name(ConvDirection direction);  // "fwd", "bwd_data", "bwd_weights".
std::optional<ConvDirection> ParseConvDirection(std::string_view name);
std::span<const std::string_view> ConvDirectionNames();  // In the order of the enumeration.

class Operator;
const Operator& ConvOperator();
inline const Operator& OperatorOf(const Conv*) { return ConvOperator(); }

// kInvalidArgument, with field, value and limit, unless `conv` has extents in [1, 2^31), operands
// below 2^40 elements, an output of at least one element, groups that divide, layouts of the right
// rank, bias only in the forward direction, output_pad only in the transposed mode and below the
// stride, alignment and math mode as for a Gemm.
Status Validate(const Conv& conv);

// The command of MIOpenDriver for this problem, the inverse of Operator::ReadDriver().
// kUnsupported if MIOpenDriver has none.
Result<std::string> DriverCommandOf(const Conv& conv);

}  // namespace attune
