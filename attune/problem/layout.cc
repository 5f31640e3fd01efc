#include "attune/problem/layout.h"

#include <algorithm>
#include <iterator>

namespace attune {
namespace {

constexpr std::string_view kLayoutNames[] = {"nchw", "nhwc", "ncdhw", "ndhwc"};

}  // namespace

bool IsChannelsLast(Layout layout) { return layout == Layout::kNhwc || layout == Layout::kNdhwc; }

int SpatialRank(Layout layout) {
  return layout == Layout::kNcdhw || layout == Layout::kNdhwc ? 3 : 2;
}

std::string_view Name(Layout layout) { return kLayoutNames[static_cast<size_t>(layout)]; }

std::optional<Layout> ParseLayout(std::string_view name) {
  const auto* const found = std::find(std::begin(kLayoutNames), std::end(kLayoutNames), name);
  if (found == std::end(kLayoutNames)) return std::nullopt;
  return static_cast<Layout>(found - std::begin(kLayoutNames));
}

std::span<const std::string_view> LayoutNames() { return kLayoutNames; }

int64_t Volume(const Spatial& extents) { return extents[0] * extents[1] * extents[2]; }

TensorDesc ImageDesc(DataType type, int64_t outer, int64_t channels, const Spatial& extents,
                     Layout layout) {
  const int spatial_rank = SpatialRank(layout);
  const auto rank = static_cast<size_t>(2 + spatial_rank);
  TensorDesc tensor{type, {}, {}};
  tensor.extents.reserve(rank);
  tensor.extents.push_back(outer);
  tensor.extents.push_back(channels);
  const auto first = extents.begin() + (3 - spatial_rank);
  tensor.extents.insert(tensor.extents.end(), first, extents.end());
  tensor.strides.assign(rank, 1);
  int64_t stride = 1;
  if (IsChannelsLast(layout)) stride = channels;
  for (size_t i = rank; i-- > 2;) {
    tensor.strides[i] = stride;
    stride *= tensor.extents[i];
  }
  if (!IsChannelsLast(layout)) {
    tensor.strides[1] = stride;
    stride *= channels;
  }
  tensor.strides[0] = stride;
  return tensor;
}

}  // namespace attune
