// Forward and backward data as one scheme: every output is a sum over taps of a packed, zero-padded
// input.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/host/conv/conv_form.h"

namespace attune::host {

// A run of columns inside of a packed row: source columns first, first + step, ... Strides of the
// forward pass are taken out here, so that neighbouring outputs read neighbouring floats.
struct Segment {
  int64_t start = 0;  // In the packed row.
  int64_t length = 0;
  int64_t source_first = 0;  // May lie outside of the source; such columns are zero.
  int64_t source_step = 1;
};

// One filter element.
struct Tap {
  Spatial place = {0, 0,
                   0};  // Packed depth, packed row and packed column that the first output reads.
  int64_t weight_offset = 0;  // In elements, of input channel 0 and output channel 0.
};

// Outputs that share one set of taps. Forward has one pass; backward data has one for each residue
// of the output position modulo the strides.
struct TapPass {
  Spatial extents = {1, 1, 1};  // How many outputs.
  Spatial first = {0, 0, 0};    // Position of the first one in the output,
  Spatial step = {1, 1, 1};     // and from one to the next.
  std::vector<Tap> taps;        // None: these outputs are zero.
};

struct TapPlan {
  int64_t batch = 1;
  int64_t groups = 1;
  int64_t in_channels = 1;   // Summed over, of one group.
  int64_t out_channels = 1;  // Per group.
  TensorForm in, out;
  int64_t weight_in_stride = 0;     // From one summed channel to the next.
  int64_t weight_out_stride = 0;    // From one output channel to the next.
  int64_t weight_group_stride = 0;  // From one group to the next.

  // The packed input of one image and group: [depth][row][channel][column].
  int64_t depth = 1, rows = 1, columns = 1;
  std::vector<int64_t> source_depth,
      source_row;  // For each packed one; -1 is zero, -2 is never read.
  std::vector<Segment> segments;
  Spatial step = {1, 1, 1};  // Packed depths, rows and columns from one output to the next.
  std::vector<TapPass> passes;

  int64_t packed_floats() const { return depth * rows * in_channels * columns; }
};

inline constexpr int64_t kZeroSource = -1;
inline constexpr int64_t kUnusedSource = -2;

// y out of x.
TapPlan ForwardPlan(const ConvForm& form);
// dx out of dy.
TapPlan BackwardDataPlan(const ConvForm& form);

// Packs packed row `row` (depth * rows + row) of all channels. `source` is the first element of the
// image and group, `packed` the whole packed input.
void PackRow(const TapPlan& plan, int64_t row, const float* source, float* packed);

// Packs the weights of one group, one pass and `lanes` output channels from `first_out` on, blocks
// of `channel_block` summed channels after one another: [block][tap][channel][lane], zero past the
// last channel.
struct WeightBlock {
  int64_t first_out = 0;
  int64_t lanes = 0;
  int64_t channel_block = 0;
};
void PackWeights(const TapPlan& plan, const TapPass& pass, const WeightBlock& block,
                 const float* source, float* packed);

}  // namespace attune::host
