// The two keys by which MIOpen's databases name a convolution. docs/formats/miopen.md has their
// grammar.
//
// Both see the convolution from its direction: "in" is what it reads beside the weights, or the
// weights' gradient reads first, so for the two backward directions it is dy, with the channels and
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

// Of find-dbs, and of the oldest perf-dbs:
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
  std::array<TensorLayout, 3> layouts = {};  // Of in, weights and out.
  ElementTypes types = {};
  std::array<std::optional<ElementType>, 3> casts = {};  // "_ci", "_cw", "_co".

  friend bool operator==(const FindKey&, const FindKey&) = default;
};
// As MIOpen writes it. A key that it did not write may read as the same and have another text.
std::string Text(const FindKey& key);
Parsed<FindKey> ReadFindKey(std::string_view text);

// Of perf-dbs: the columns of their table `config`, and in this order with 'x' between them the key
// of their text form. It lacks the extents of "out", so that several problems with a stride share
// one key, two of the layouts, and casts.
struct PerfKey {
  int64_t spatial_rank = 2;
  int64_t in_channels = 0;
  Spatial in = {};  // Depth, height, width, like all that follow.
  Spatial filter = {};
  int64_t out_channels = 0;
  int64_t batch = 0;
  // In 2-D MIOpen has 0 for the depth of these three, and 1 for that of the two above.
  Spatial pad = {};
  Spatial stride = {};
  Spatial dilation = {};
  int64_t bias = 0;
  int64_t groups = 1;
  TensorLayout layout = TensorLayout::kNchw;  // Of "in".
  ElementTypes types = {};
  Direction direction = Direction::kForward;

  friend bool operator==(const PerfKey&, const PerfKey&) = default;
};
std::string Text(const PerfKey& key);
Parsed<PerfKey> ReadPerfKey(std::string_view text);

// Why no convolution has that key, a sentence ("0 is no stride."); empty if one may: what needs the
// extents of "out" to be told is not looked at.
std::string WhyImpossible(const PerfKey& key);

// Under which a perf-db has what a find-db has under `key`.
PerfKey PerfKeyOf(const FindKey& key);

// The problem that the key means, validated, with "in" and "out" as the forward convolution has
// them. kInvalidArgument for a convolution that cannot be (its "out" does not follow from the
// rest), kUnsupported for what a Conv cannot express: mixed types, casts, layouts in vectors.
Result<Conv> ProblemOf(const FindKey& key);

// The inverse. Transposed convolutions have the key of the plain one that does the same, and
// tensors that lie the same in two layouts are called as MIOpen calls them: those of a 1x1
// convolution of 1x1 pictures NCHW. kUnsupported for what MIOpen's key cannot tell apart from
// another problem: bias, a math mode, a requirement of determinism or alignment.
Result<FindKey> FindKeyOf(const Conv& conv);

// The problem that the key of `conv` means, which computes the same; `conv` itself if it has none.
Conv MeantByKeyOf(const Conv& conv);

}  // namespace attune::miopen
