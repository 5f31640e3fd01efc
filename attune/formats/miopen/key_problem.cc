// Between MIOpen's keys and problems.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/ops/conv/conv.h"

namespace attune::miopen {
namespace {

constexpr std::pair<TensorLayout, Layout> kLayouts[] = {{TensorLayout::kNchw, Layout::kNchw},
                                                        {TensorLayout::kNhwc, Layout::kNhwc},
                                                        {TensorLayout::kNcdhw, Layout::kNcdhw},
                                                        {TensorLayout::kNdhwc, Layout::kNdhwc}};
constexpr std::pair<ElementType, DataType> kTypes[] = {{ElementType::kFp32, DataType::kF32},
                                                       {ElementType::kFp16, DataType::kF16},
                                                       {ElementType::kBf16, DataType::kBf16},
                                                       {ElementType::kFp64, DataType::kF64},
                                                       {ElementType::kInt8, DataType::kI8}};
constexpr std::pair<Direction, ConvDirection> kDirections[] = {
    {Direction::kForward, ConvDirection::kForward},
    {Direction::kBackwardData, ConvDirection::kBackwardData},
    {Direction::kBackwardWeights, ConvDirection::kBackwardWeights}};

// The partner of `value` in a list of pairs.
template <class Ours, class Theirs, size_t kSize>
std::optional<Ours> OursOf(const std::pair<Theirs, Ours> (&pairs)[kSize], Theirs value) {
  for (const auto& [theirs, ours] : pairs) {
    if (theirs == value) return ours;
  }
  return std::nullopt;
}

template <class Ours, class Theirs, size_t kSize>
std::optional<Theirs> TheirsOf(const std::pair<Theirs, Ours> (&pairs)[kSize], Ours value) {
  for (const auto& [theirs, ours] : pairs) {
    if (ours == value) return theirs;
  }
  return std::nullopt;
}

Status CheckExpressible(const FindKey& key) {
  if (key.types[1] != key.types[0] || key.types[2] != key.types[0]) {
    return Unsupported(fmt::format("A problem has no mixed types like {}.", TextOf(key.types)));
  }
  for (const auto& cast : key.casts) {
    if (cast.has_value()) return Unsupported("A problem has no casts of its operands.");
  }
  if (key.bias != 0) {
    return Unsupported(fmt::format("What a bias of {} adds is not known.", key.bias));
  }
  if (!OursOf(kTypes, key.types[0]).has_value()) {
    return Unsupported(fmt::format("No problem is of type {}.", Name(key.types[0])));
  }
  for (const TensorLayout layout : key.layouts) {
    if (!OursOf(kLayouts, layout).has_value()) {
      return Unsupported(fmt::format("No problem has tensors in layout {}.", Name(layout)));
    }
  }
  return Status::Ok();
}

// All fields that do not depend on the direction's view of "in" and "out".
Conv Unturned(const FindKey& key) {
  Conv conv;
  conv.direction = *OursOf(kDirections, key.direction);
  conv.spatial_rank = key.spatial_rank;
  conv.batch = key.batch;
  conv.groups = key.groups;
  conv.filter = key.filter;
  conv.pad = key.pad;
  conv.stride = key.stride;
  conv.dilation = key.dilation;
  conv.weights_layout = *OursOf(kLayouts, key.layouts[1]);
  conv.type = *OursOf(kTypes, key.types[0]);
  return conv;
}

std::string ExtentText(const Spatial& extents, int rank) {
  return rank == 3 ? fmt::format("{}x{}x{}", extents[0], extents[1], extents[2])
                   : fmt::format("{}x{}", extents[1], extents[2]);
}

// The plain convolution with the same result as the transposed one.
Conv PlainOf(const Conv& conv) {
  Conv plain = conv;
  plain.mode = ConvMode::kConvolution;
  plain.output_pad = {0, 0, 0};
  plain.in = OutputExtent(conv);
  std::swap(plain.in_channels, plain.out_channels);
  std::swap(plain.in_layout, plain.out_layout);
  if (conv.direction == ConvDirection::kForward) plain.direction = ConvDirection::kBackwardData;
  if (conv.direction == ConvDirection::kBackwardData) plain.direction = ConvDirection::kForward;
  return plain;
}

Status CheckTold(const Conv& conv) {
  if (conv.bias) return Unsupported("Keys of MIOpen's databases do not tell of a bias.");
  if (conv.deterministic) {
    return Unsupported("Keys of MIOpen's databases do not tell that results must repeat.");
  }
  if (conv.math != MathMode::kStrict) {
    return Unsupported(
        fmt::format("Keys of MIOpen's databases do not tell of math mode {}.", Name(conv.math)));
  }
  if (conv.alignment_bytes != Conv().alignment_bytes) {
    return Unsupported(
        fmt::format("Keys of MIOpen's databases do not tell of an alignment of {} bytes.",
                    conv.alignment_bytes));
  }
  if (!TheirsOf(kTypes, conv.type).has_value()) {
    return Unsupported(fmt::format("MIOpen's databases have no type {}.", Name(conv.type)));
  }
  return Status::Ok();
}

int64_t Volume(const Spatial& extents) { return extents[0] * extents[1] * extents[2]; }

// MIOpen looks at the strides of tensors and not at the names of their layouts. It tries layouts in
// this order; the first in which all three tensors can lie is that of the key. Channels first and
// last are the same for a tensor with one channel, and for one with images, or a filter, of one
// point.
void TakeCommonLayout(FindKey& key) {
  const bool is_forward = key.direction == Direction::kForward;
  const int64_t filter_channels =
      (is_forward ? key.in_channels : key.out_channels) / std::max<int64_t>(key.groups, 1);
  const bool is_either[] = {key.in_channels == 1 || Volume(key.in) == 1,
                            filter_channels == 1 || Volume(key.filter) == 1,
                            key.out_channels == 1 || Volume(key.out) == 1};
  std::vector<TensorLayout> tried = {TensorLayout::kNcdhw};
  if (key.spatial_rank == 2) tried = {TensorLayout::kNchw, TensorLayout::kNhwc};
  for (const TensorLayout layout : tried) {
    bool all_lie_so = true;
    for (size_t i = 0; i < key.layouts.size(); ++i) {
      all_lie_so = all_lie_so && (is_either[i] || key.layouts[i] == layout);
    }
    if (all_lie_so) return key.layouts.fill(layout);
  }
}

}  // namespace

Result<Conv> ProblemOf(const FindKey& key) {
  ATTUNE_RETURN_IF_ERROR(CheckExpressible(key));
  const bool is_forward = key.direction == Direction::kForward;
  Conv conv = Unturned(key);
  conv.in_channels = is_forward ? key.in_channels : key.out_channels;
  conv.out_channels = is_forward ? key.out_channels : key.in_channels;
  conv.in = is_forward ? key.in : key.out;
  conv.in_layout = *OursOf(kLayouts, key.layouts[is_forward ? 0 : 2]);
  conv.out_layout = *OursOf(kLayouts, key.layouts[is_forward ? 2 : 0]);
  ATTUNE_RETURN_IF_ERROR(Validate(conv));
  const Spatial& out = is_forward ? key.out : key.in;
  const Spatial computed = OutputExtent(conv);
  if (out == computed) return conv;
  return InvalidArgument(fmt::format(
      "An input of {} gives an output of {}, not of {}: filter {}, pad {}, stride {}, dilation {}.",
      ExtentText(conv.in, key.spatial_rank), ExtentText(computed, key.spatial_rank),
      ExtentText(out, key.spatial_rank), ExtentText(key.filter, key.spatial_rank),
      ExtentText(key.pad, key.spatial_rank), ExtentText(key.stride, key.spatial_rank),
      ExtentText(key.dilation, key.spatial_rank)));
}

Result<FindKey> FindKeyOf(const Conv& conv) {
  ATTUNE_RETURN_IF_ERROR(Validate(conv));
  ATTUNE_RETURN_IF_ERROR(CheckTold(conv));
  if (conv.mode == ConvMode::kTransposed) return FindKeyOf(PlainOf(conv));
  const bool is_forward = conv.direction == ConvDirection::kForward;
  const Spatial out = OutputExtent(conv);
  FindKey key;
  key.direction = *TheirsOf(kDirections, conv.direction);
  key.spatial_rank = conv.spatial_rank;
  key.in_channels = is_forward ? conv.in_channels : conv.out_channels;
  key.out_channels = is_forward ? conv.out_channels : conv.in_channels;
  key.in = is_forward ? conv.in : out;
  key.out = is_forward ? out : conv.in;
  key.batch = conv.batch;
  key.groups = conv.groups;
  key.filter = conv.filter;
  key.pad = conv.pad;
  key.stride = conv.stride;
  key.dilation = conv.dilation;
  const Layout in_layout = is_forward ? conv.in_layout : conv.out_layout;
  const Layout out_layout = is_forward ? conv.out_layout : conv.in_layout;
  key.layouts = {*TheirsOf(kLayouts, in_layout), *TheirsOf(kLayouts, conv.weights_layout),
                 *TheirsOf(kLayouts, out_layout)};
  TakeCommonLayout(key);
  key.types.fill(*TheirsOf(kTypes, conv.type));
  return key;
}

Conv MeantByKeyOf(const Conv& conv) {
  const auto key = FindKeyOf(conv);
  if (!key.ok()) return conv;
  const auto meant = ProblemOf(*key);
  return meant.ok() ? *meant : conv;
}

}  // namespace attune::miopen
