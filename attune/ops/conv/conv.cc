#include "attune/ops/conv/conv.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/conv/conv_operator.h"
#include "attune/problem/limits.h"

namespace attune {
namespace {

constexpr std::string_view kDirectionNames[] = {"fwd", "bwd_data", "bwd_weights"};
constexpr std::string_view kAxisNames[] = {"depth", "height", "width"};

template <class Enum, size_t kSize>
std::optional<Enum> FindName(const std::string_view (&names)[kSize], std::string_view name) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

int64_t FloorDivide(int64_t dividend, int64_t divisor) {
  const int64_t quotient = dividend / divisor;
  return dividend % divisor < 0 ? quotient - 1 : quotient;
}

Status CheckChannels(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckRange("conv", "batch", conv.batch, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("conv", "in_channels", conv.in_channels, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("conv", "out_channels", conv.out_channels, 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(CheckRange("conv", "groups", conv.groups, 1, kMaxExtent));
  if (conv.in_channels % conv.groups == 0 && conv.out_channels % conv.groups == 0) {
    return Status::Ok();
  }
  return InvalidArgument(
      fmt::format("{} groups of the conv do not divide {} input and {} output channels.",
                  conv.groups, conv.in_channels, conv.out_channels));
}

Status CheckAxis(const Conv& conv, size_t axis) {
  const auto check = [axis](std::string_view field, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return Status::Ok();
    return CheckRange("conv", fmt::format("{} ({})", field, kAxisNames[axis]), value, low, high);
  };
  ATTUNE_RETURN_IF_ERROR(check("in", conv.in[axis], 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(check("filter", conv.filter[axis], 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(check("pad", conv.pad[axis], 0, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(check("stride", conv.stride[axis], 1, kMaxExtent));
  ATTUNE_RETURN_IF_ERROR(check("dilation", conv.dilation[axis], 1, kMaxExtent));
  // A larger one would not be undone by the plain convolution of the same geometry.
  const int64_t max_output_pad = conv.mode == ConvMode::kTransposed ? conv.stride[axis] - 1 : 0;
  return check("output_pad", conv.output_pad[axis], 0, max_output_pad);
}

Status CheckRank(const Conv& conv) {
  if (conv.spatial_rank != 2 && conv.spatial_rank != 3) {
    return InvalidArgument(
        fmt::format("The conv has {} spatial dimensions; 2 and 3 are known.", conv.spatial_rank));
  }
  for (const Layout layout : {conv.in_layout, conv.weights_layout, conv.out_layout}) {
    if (SpatialRank(layout) == conv.spatial_rank) continue;
    return InvalidArgument(
        fmt::format("Layout {} does not fit the {} spatial dimensions of the conv.", Name(layout),
                    conv.spatial_rank));
  }
  const bool flat = conv.in[0] == 1 && conv.filter[0] == 1 && conv.pad[0] == 0 &&
                    conv.stride[0] == 1 && conv.dilation[0] == 1 && conv.output_pad[0] == 0;
  if (conv.spatial_rank == 3 || flat) return Status::Ok();
  return InvalidArgument("A 2-D conv has depth 1, pad 0, stride 1 and dilation 1 along it.");
}

Status CheckOperandSize(std::string_view name, int64_t outer, int64_t channels,
                        const Spatial& extents) {
  __int128 count = static_cast<__int128>(outer) * channels;
  for (const int64_t extent : extents) {
    if (count <= kMaxOperandElements) count *= extent;
  }
  if (count <= kMaxOperandElements) return Status::Ok();
  return InvalidArgument(
      fmt::format("The {} of the conv has more than {} elements ({} x {} x {} x {} x {}).", name,
                  kMaxOperandElements, outer, channels, extents[0], extents[1], extents[2]));
}

Status CheckOperands(const Conv& conv) {
  const Spatial out = OutputExtent(conv);
  for (size_t axis = 0; axis < out.size(); ++axis) {
    if (out[axis] >= 1 && out[axis] <= kMaxExtent) continue;
    return InvalidArgument(fmt::format(
        "The output of the conv has {} {}, outside of [1, {}]: input {}, filter {}, pad {}, stride "
        "{}, dilation {}.",
        kAxisNames[axis], out[axis], kMaxExtent, conv.in[axis], conv.filter[axis], conv.pad[axis],
        conv.stride[axis], conv.dilation[axis]));
  }
  ATTUNE_RETURN_IF_ERROR(CheckOperandSize("input", conv.batch, conv.in_channels, conv.in));
  ATTUNE_RETURN_IF_ERROR(
      CheckOperandSize("filter", conv.out_channels, conv.in_channels / conv.groups, conv.filter));
  return CheckOperandSize("output", conv.batch, conv.out_channels, out);
}

TensorDesc WeightsDesc(const Conv& conv) {
  const bool transposed = conv.mode == ConvMode::kTransposed;
  const int64_t outer = transposed ? conv.in_channels : conv.out_channels;
  const int64_t inner = (transposed ? conv.out_channels : conv.in_channels) / conv.groups;
  return ImageDesc(conv.type, outer, inner, conv.filter, conv.weights_layout);
}

// Positions of the filter for each image: the output of the plain mode, the input of the transposed
// one.
int64_t WindowsPerImage(const Conv& conv) {
  return Volume(conv.mode == ConvMode::kTransposed ? conv.in : OutputExtent(conv));
}

}  // namespace

Spatial OutputExtent(const Conv& conv) {
  Spatial out;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t reach = conv.dilation[i] * (conv.filter[i] - 1) + 1;
    out[i] = conv.mode == ConvMode::kTransposed
                 ? (conv.in[i] - 1) * conv.stride[i] - 2 * conv.pad[i] + reach + conv.output_pad[i]
                 : FloorDivide(conv.in[i] + 2 * conv.pad[i] - reach, conv.stride[i]) + 1;
  }
  return out;
}

std::string_view Name(ConvDirection direction) {
  return kDirectionNames[static_cast<size_t>(direction)];
}

std::optional<ConvDirection> ParseConvDirection(std::string_view name) {
  return FindName<ConvDirection>(kDirectionNames, name);
}

std::span<const std::string_view> ConvDirectionNames() { return kDirectionNames; }

Status Validate(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(CheckChannels(conv));
  for (size_t axis = 0; axis < conv.in.size(); ++axis) {
    ATTUNE_RETURN_IF_ERROR(CheckAxis(conv, axis));
  }
  ATTUNE_RETURN_IF_ERROR(CheckRank(conv));
  ATTUNE_RETURN_IF_ERROR(CheckOperands(conv));
  if (conv.bias && conv.direction != ConvDirection::kForward) {
    return InvalidArgument(fmt::format("The conv has a bias in direction {}; only fwd takes one.",
                                       Name(conv.direction)));
  }
  ATTUNE_RETURN_IF_ERROR(CheckAlignment("conv", conv.alignment_bytes, conv.type));
  return CheckMathMode("conv", conv.math, conv.type);
}

// Without a copy: lists of 100,000 convolutions ask for theirs several times.
std::vector<Operand> OperandsOf(const Conv& conv) {
  TensorDesc x = ImageDesc(conv.type, conv.batch, conv.in_channels, conv.in, conv.in_layout);
  TensorDesc y =
      ImageDesc(conv.type, conv.batch, conv.out_channels, OutputExtent(conv), conv.out_layout);
  TensorDesc w = WeightsDesc(conv);
  std::vector<Operand> operands;
  operands.reserve(4);
  const auto add = [&](const char* name, OperandRole role, TensorDesc tensor) {
    operands.push_back({name, role, std::move(tensor)});
  };
  switch (conv.direction) {
    case ConvDirection::kForward:
      add("x", OperandRole::kIn, std::move(x));
      add("w", OperandRole::kIn, std::move(w));
      if (conv.bias) add("bias", OperandRole::kIn, {conv.type, {conv.out_channels}, {1}});
      add("y", OperandRole::kOut, std::move(y));
      break;
    case ConvDirection::kBackwardData:
      add("dy", OperandRole::kIn, std::move(y));
      add("w", OperandRole::kIn, std::move(w));
      add("dx", OperandRole::kOut, std::move(x));
      break;
    case ConvDirection::kBackwardWeights:
      add("x", OperandRole::kIn, std::move(x));
      add("dy", OperandRole::kIn, std::move(y));
      add("dw", OperandRole::kOut, std::move(w));
      break;
  }
  return operands;
}

double FlopsOf(const Conv& conv) {
  const double taps = static_cast<double>(Volume(conv.filter)) *
                      (static_cast<double>(conv.in_channels) / static_cast<double>(conv.groups)) *
                      static_cast<double>(conv.out_channels);
  return 2.0 * static_cast<double>(conv.batch) * static_cast<double>(WindowsPerImage(conv)) * taps;
}

int64_t ReductionLengthOf(const Conv& conv) {
  switch (conv.direction) {
    case ConvDirection::kForward:
      return conv.in_channels / conv.groups * Volume(conv.filter);
    case ConvDirection::kBackwardData:
      return conv.out_channels / conv.groups * Volume(conv.filter);
    case ConvDirection::kBackwardWeights:
      return conv.batch * WindowsPerImage(conv);
  }
  return 0;
}

}  // namespace attune
