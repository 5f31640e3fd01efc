// Images in memory: the order of their dimensions, and extents along their axes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "attune/problem/tensor.h"

namespace attune {

// Order of dimensions in memory, outermost first, letters as for images. For weights read K for N.
enum class Layout { kNchw, kNhwc, kNcdhw, kNdhwc };

// Extents in the order depth, height, width; depth is 1 (pad 0, stride 1, dilation 1) in 2-D.
using Spatial = std::array<int64_t, 3>;

// NCHW and NHWC are 2-D, NCDHW and NDHWC 3-D.
bool IsChannelsLast(Layout layout);
int SpatialRank(Layout layout);

std::string_view Name(Layout layout);  // "nchw", "nhwc", "ncdhw", "ndhwc".
std::optional<Layout> ParseLayout(std::string_view name);
std::span<const std::string_view> LayoutNames();  // In the order of the enumeration.

int64_t Volume(const Spatial& extents);

// The packed tensor `outer` x `channels` x `extents` in `layout`: n, c, [d,] h, w.
TensorDesc ImageDesc(DataType type, int64_t outer, int64_t channels, const Spatial& extents,
                     Layout layout);

}  // namespace attune
