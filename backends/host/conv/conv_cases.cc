#include "backends/host/conv/conv_cases.h"

#include <utility>

#include "attune/ops/conv/conv.h"

namespace attune::host {
namespace {

// Batch, channels in and out, and groups.
struct Sizes {
  int64_t batch, in_channels, out_channels, groups;
};

Conv Flat(const Sizes& sizes, Spatial in, Spatial filter) {
  Conv conv;
  conv.batch = sizes.batch;
  conv.in_channels = sizes.in_channels;
  conv.out_channels = sizes.out_channels;
  conv.groups = sizes.groups;
  conv.in = in;
  conv.filter = filter;
  return conv;
}

Conv Volumetric(Conv conv) {
  conv.spatial_rank = 3;
  conv.in_layout = conv.weights_layout = conv.out_layout = Layout::kNcdhw;
  return conv;
}

Conv WithPad(Conv conv, Spatial pad) {
  conv.pad = pad;
  return conv;
}
Conv WithStride(Conv conv, Spatial stride) {
  conv.stride = stride;
  return conv;
}
Conv WithDilation(Conv conv, Spatial dilation) {
  conv.dilation = dilation;
  return conv;
}

Layout ChannelsLast(const Conv& conv) {
  return conv.spatial_rank == 2 ? Layout::kNhwc : Layout::kNdhwc;
}

void AddForms(const ConvCase& plain, ConvDirection direction, const std::string& suffix,
              std::vector<ConvCase>& cases) {
  Conv conv = plain.conv;
  conv.direction = direction;
  cases.push_back({plain.name + suffix, conv});
  Conv last = conv;
  last.in_layout = last.weights_layout = last.out_layout = ChannelsLast(conv);
  last.bias = direction == ConvDirection::kForward;
  cases.push_back({plain.name + suffix + "ChannelsLast", last});
  Conv mixed = conv;
  mixed.in_layout = ChannelsLast(conv);
  mixed.bias = direction == ConvDirection::kForward;
  cases.push_back({plain.name + suffix + "Mixed", mixed});
  Conv other = conv;
  other.weights_layout = other.out_layout = ChannelsLast(conv);
  cases.push_back({plain.name + suffix + "OtherMixed", other});
}

}  // namespace

std::vector<ConvCase> ConvCases() {
  return {
      {"Pointwise", Flat({2, 20, 33, 1}, {1, 7, 9}, {1, 1, 1})},
      {"PointwiseStrided", WithStride(Flat({2, 16, 18, 1}, {1, 8, 11}, {1, 1, 1}), {1, 2, 2})},
      {"PointwisePadded", WithPad(Flat({1, 8, 17, 1}, {1, 6, 5}, {1, 1, 1}), {0, 1, 1})},
      {"Square3", WithPad(Flat({3, 16, 32, 1}, {1, 14, 14}, {1, 3, 3}), {0, 1, 1})},
      {"FirstLayer",
       WithStride(WithPad(Flat({2, 3, 16, 1}, {1, 23, 19}, {1, 7, 7}), {0, 3, 3}), {1, 2, 2})},
      {"Unpadded5x3", Flat({1, 5, 19, 1}, {1, 11, 30}, {1, 5, 3})},
      {"OddStrides",
       WithStride(WithPad(Flat({2, 9, 20, 1}, {1, 13, 17}, {1, 3, 4}), {0, 2, 1}), {1, 2, 3})},
      {"Dilated",
       WithDilation(WithPad(Flat({2, 8, 16, 1}, {1, 15, 13}, {1, 3, 3}), {0, 2, 3}), {1, 2, 3})},
      {"DilatedStrided",
       WithStride(
           WithDilation(WithPad(Flat({1, 6, 24, 1}, {1, 17, 16}, {1, 3, 2}), {0, 2, 1}), {1, 2, 3}),
           {1, 2, 2})},
      {"WidePad", WithPad(Flat({1, 4, 16, 1}, {1, 5, 5}, {1, 3, 3}), {0, 4, 3})},
      {"Grouped", WithPad(Flat({2, 24, 48, 3}, {1, 9, 8}, {1, 3, 3}), {0, 1, 1})},
      {"Depthwise", WithPad(Flat({2, 16, 16, 16}, {1, 10, 12}, {1, 3, 3}), {0, 1, 1})},
      {"Volume", Volumetric(WithPad(Flat({2, 6, 20, 1}, {5, 7, 8}, {3, 3, 3}), {1, 1, 1}))},
      {"VolumeStridedDilated",
       Volumetric(WithDilation(
           WithStride(WithPad(Flat({1, 8, 16, 2}, {7, 9, 8}, {2, 3, 3}), {1, 0, 2}), {2, 1, 2}),
           {2, 1, 2}))},
      {"WholeImage", Flat({2, 10, 21, 1}, {1, 6, 6}, {1, 6, 6})},
  };
}

std::vector<ConvCase> ConvCasesInAllForms(DataType type) {
  std::vector<ConvCase> cases;
  for (ConvCase plain : ConvCases()) {
    plain.conv.type = type;
    AddForms(plain, ConvDirection::kForward, "Forward", cases);
    AddForms(plain, ConvDirection::kBackwardData, "BackwardData", cases);
    AddForms(plain, ConvDirection::kBackwardWeights, "BackwardWeights", cases);
  }
  return cases;
}

}  // namespace attune::host
