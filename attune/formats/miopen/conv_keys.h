// The two keys by which MIOpen's databases name a convolution. docs/formats/miopen.md has their
// grammar.
//
// Both see the convolution from its direction: "in" is the tensor read beside the weights, or first
// by the weights' gradient, so for the two backward directions it is dy, with the channels and
// extents of the forward output, and "out" is dx (or x). Filter, pads, strides and dilations are
// those of the forward convolution.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/formats/miopen/conv_words.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/text_error.h"

namespace attune::miopen {

// The key of find-dbs, and of the oldest perf-dbs:
// "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F".
struct FindKey {
  Direction direction = Direction::kForward;
  int spatial_rank = 2;  // 2 or 3.
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t bias = 0;
  // Depth, height, width; in 2-D the depth is that of a Conv: 1, and 0 for the pad.
  Spatial in = {1, 0, 0};
  Spatial filter = {1, 0, 0};
  Spatial out = {1, 0, 0};
  Spatial pad = {0, 0, 0};
  Spatial stride = {1, 0, 0};
  Spatial dilation = {1, 0, 0};
  std::array<TensorLayout, 3> layouts = {};  // Layouts of in, weights and out.
  ElementTypes types = {};
  std::array<std::optional<ElementType>, 3> casts = {};  // "_ci", "_cw", "_co".

  friend bool operator==(const FindKey&, const FindKey&) = default;
};
// As MIOpen writes it. A key that MIOpen did not write may read as the same and have another text.
std::string Text(const FindKey& key);
Parsed<FindKey> ReadFindKey(std::string_view text);

// The key of perf-dbs: the columns of their table `config`. In this order with 'x' between them,
// they are the key of their text form. It lacks the extents of "out", so that several problems with
// a stride share one key. It also lacks two of the layouts, and casts.
struct PerfKey {
  int64_t spatial_rank = 2;
  int64_t in_channels = 0;
  Spatial in = {};  // Depth, height, width, like all that follow.
  Spatial filter = {};
  int64_t out_channels = 0;
  int64_t batch = 0;
  // In 2-D MIOpen uses depth 0 for these three, and 1 for the two above.
  Spatial pad = {};
  Spatial stride = {};
  Spatial dilation = {};
  int64_t bias = 0;
  int64_t groups = 1;
  TensorLayout layout = TensorLayout::kNchw;  // Layout of "in".
  ElementTypes types = {};
  Direction direction = Direction::kForward;

  friend bool operator==(const PerfKey&, const PerfKey&) = default;
};
std::string Text(const PerfKey& key);
Parsed<PerfKey> ReadPerfKey(std::string_view text);

// Why no convolution can have that key, a sentence ("0 is no stride."); empty if one may. Skips
// checks that need the extents of "out".
std::string WhyImpossible(const PerfKey& key);

// The perf-db key for the find-db key `key`.
PerfKey PerfKeyOf(const FindKey& key);

// The problem that the key means, validated, with "in" and "out" as the forward convolution has
// them. kInvalidArgument for an impossible convolution (its "out" does not follow from the rest),
// kUnsupported for one that a Conv cannot express: mixed types, casts, layouts in vectors.
Result<Conv> ProblemOf(const FindKey& key);

// The inverse. Transposed convolutions have the key of the plain one that does the same. A layout
// gets MIOpen's name if the tensors lie the same in two layouts: NCHW for a 1x1 convolution of 1x1
// images. kUnsupported if another problem would have the same key: bias, a math mode, a requirement
// of determinism or alignment.
Result<FindKey> FindKeyOf(const Conv& conv);

// The problem that the key of `conv` means, which computes the same; `conv` itself if it has none.
Conv MeantByKeyOf(const Conv& conv);

}  // namespace attune::miopen
