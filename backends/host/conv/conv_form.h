// A convolution as loops see it: strides in elements instead of layouts, channels of one group.
#pragma once

#include <array>
#include <cstdint>

#include "attune/ops/conv/conv.h"
#include "attune/ops/conv/conv_operands.h"

namespace attune::host {

// One of the operands. `outer` is the batch, or the output channel for weights; `channel` counts
// within the whole tensor for images, within the group for weights.
struct TensorForm {
  int64_t outer_stride = 0;
  int64_t channel_stride = 0;
  Spatial extents = {1, 1, 1};
  Spatial strides = {0, 0, 0};

  int64_t Volume() const { return extents[0] * extents[1] * extents[2]; }
};

struct ConvForm {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 1;   // Per group.
  int64_t out_channels = 1;  // Per group.
  TensorForm x, w, y;
  Spatial pad = {0, 0, 0};
  Spatial stride = {1, 1, 1};
  Spatial dilation = {1, 1, 1};

  int64_t taps() const { return w.Volume(); }
};

// REQUIRES: `conv` is valid and not transposed.
ConvForm FormOf(const Conv& conv);

}  // namespace attune::host
