// Families, distances, model features and labels of convolutions.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "attune/ops/conv/conv_operator.h"
#include "attune/problem/feature_values.h"

namespace attune {
namespace {

std::string SpatialText(const Spatial& values) {
  return fmt::format("{}x{}x{}", values[0], values[1], values[2]);
}

// "2" for {1,2,2} in 2-D and for {2,2,2} in 3-D, "1x2" where extents differ.
std::string ShortText(const Spatial& extents, int rank, bool collapse) {
  const size_t first = static_cast<size_t>(3 - rank);
  bool equal = true;
  std::string text;
  for (size_t i = first; i < 3; ++i) {
    equal = equal && extents[i] == extents[first];
    text += fmt::format("{}{}", i == first ? "" : "x", extents[i]);
  }
  return equal && collapse ? fmt::format("{}", extents[first]) : text;
}

bool IsAll(const Spatial& extents, int rank, int64_t value) {
  for (size_t i = static_cast<size_t>(3 - rank); i < 3; ++i) {
    if (extents[i] != value) return false;
  }
  return true;
}

double PaddedTo(double x, double tile) { return std::ceil(x / tile) * tile; }

// The choice also depends on the extents of the equivalent matrix product, on the share of tiles
// that lies outside of it and of the image, and on the sizes of operands. A tree splits on one
// column at a time, so products of extents are columns, too.
std::vector<double> ConvTileValues(const Conv& c) {
  const Spatial out = OutputExtent(c);
  const double batch = Number(c.batch);
  const double filter = Number(c.filter[0]) * Number(c.filter[1]) * Number(c.filter[2]);
  const double in_pixels = Number(c.in[0]) * Number(c.in[1]) * Number(c.in[2]);
  const double out_pixels = Number(out[0]) * Number(out[1]) * Number(out[2]);
  const double in_channels = Number(c.in_channels) / Number(c.groups);
  const double out_channels = Number(c.out_channels) / Number(c.groups);
  double m = out_channels;
  double n = batch * out_pixels;
  double k = in_channels * filter;
  if (c.direction == ConvDirection::kBackwardData) {
    m = in_channels;
    n = batch * in_pixels;
    k = out_channels * filter;
  } else if (c.direction == ConvDirection::kBackwardWeights) {
    std::swap(n, k);
  }
  const auto waste = [&](double tile) { return PaddedTo(m, tile) * PaddedTo(n, tile) / (m * n); };
  const auto image_waste = [&](double tile) {
    return PaddedTo(Number(out[1]), tile) * PaddedTo(Number(out[2]), tile) /
           (Number(out[1]) * Number(out[2]));
  };
  return {image_waste(2),
          image_waste(4),
          image_waste(6),
          Log(m),
          Log(n),
          Log(k),
          Log(waste(64)),
          Log(waste(128)),
          Log(std::ceil(m / 64) * std::ceil(n / 64)),
          Log(PaddedTo(k, 16) / k),
          Log(in_channels),
          Log(out_channels),
          std::fmod(Number(out[2]), 16),
          std::fmod(Number(out[1]) * Number(out[2]), 64),
          Log(batch * Number(c.in_channels) * in_pixels),
          Log(Number(c.in_channels) * in_pixels),
          Log(Number(c.out_channels) * out_pixels),
          Log(Number(c.in_channels) * out_pixels),
          Log(2 * k * m * n / (batch * out_pixels)),
          filter,
          out_pixels / in_pixels,
          std::log2(Number(c.in[2]) / Number(c.in[1])),
          Log(std::min(c.in_channels, c.out_channels)),
          Log(std::max(c.in_channels, c.out_channels)),
          Log(Number(c.in_channels) * Number(c.out_channels)),
          Log(batch * Number(c.in_channels)),
          Log(batch * Number(c.out_channels))};
}

}  // namespace

std::string FamilyOf(const Conv& conv) {
  const bool depthwise = conv.groups > 1 && conv.groups == conv.in_channels;
  return fmt::format("conv {} {} {}d {}/{}/{} {} {} {}{} f={} s={} d={} op={} {}{}{}",
                     Name(conv.direction), conv.mode == ConvMode::kTransposed ? "trans" : "conv",
                     conv.spatial_rank, Name(conv.in_layout), Name(conv.weights_layout),
                     Name(conv.out_layout), Name(conv.type), Name(conv.math), Flag(conv.bias, 'b'),
                     Flag(conv.deterministic, 'd'), SpatialText(conv.filter),
                     SpatialText(conv.stride), SpatialText(conv.dilation),
                     SpatialText(conv.output_pad), Flag(conv.pad != Spatial{0, 0, 0}, 'p'),
                     Flag(conv.groups > 1, 'g'), Flag(depthwise, 'w'));
}

Position PositionOf(const Conv& conv) {
  const auto logarithm = [](int64_t size) { return static_cast<float>(Log(size)); };
  const int64_t groups = std::max<int64_t>(conv.groups, 1);
  return {logarithm(conv.batch),
          logarithm(conv.in_channels / groups),
          logarithm(conv.out_channels / groups),
          logarithm(groups),
          logarithm(conv.in[0]),
          logarithm(conv.in[1]),
          logarithm(conv.in[2])};
}

std::vector<std::string> ConvFeatureNames() {
  return {"one",         "flops",          "bytes",         "batch",
          "in_channels", "out_channels",   "in_d",          "in_h",
          "in_w",        "out_d",          "out_h",         "out_w",
          "filter_d",    "filter_h",       "filter_w",      "stride_h",
          "stride_w",    "dilation",       "groups",        "pad_h",
          "pad_w",       "direction",      "transposed",    "type_bytes",
          "bf16",        "math",           "rank",          "nhwc",
          "log_flops",   "log_bytes",      "intensity",     "outputs",
          "reduction",   "twos_c",         "twos_k",        "twos_n",
          "twos_w",      "pixels",         "out_elements",  "weights",
          "widening",    "depthwise",      "alignment",     "winograd_2",
          "winograd_4",  "winograd_6",     "gemm_m",        "gemm_n",
          "gemm_k",      "waste_64",       "waste_128",     "tiles_64",
          "waste_k",     "group_c",        "group_k",       "last_w",
          "last_pixels", "in_elements",    "in_image",      "out_image",
          "columns",     "pixel_flops",    "filter",        "shrinking",
          "aspect",      "least_channels", "most_channels", "channels",
          "in_planes",   "out_planes"};
}

std::vector<double> FeatureValuesOf(const Conv& c) {
  const Spatial out = OutputExtent(c);
  const Problem problem = c;
  const double flops = std::max(Flops(problem), 1.0);
  const double bytes = CompulsoryBytes(problem);
  const double pixels = Number(out[0]) * Number(out[1]) * Number(out[2]);
  const double outputs = Number(c.batch) * pixels;
  const double reduction = Number(c.in_channels) / Number(c.groups) * Number(c.filter[0]) *
                           Number(c.filter[1]) * Number(c.filter[2]);
  std::vector<double> values = {1,
                                flops,
                                bytes,
                                Log(c.batch),
                                Log(c.in_channels),
                                Log(c.out_channels),
                                Log(c.in[0]),
                                Log(c.in[1]),
                                Log(c.in[2]),
                                Log(out[0]),
                                Log(out[1]),
                                Log(out[2]),
                                Number(c.filter[0]),
                                Number(c.filter[1]),
                                Number(c.filter[2]),
                                Number(c.stride[1]),
                                Number(c.stride[2]),
                                Number(c.dilation[1]),
                                Log(c.groups),
                                Number(c.pad[1]),
                                Number(c.pad[2]),
                                Number(static_cast<int64_t>(c.direction)),
                                Switch(c.mode == ConvMode::kTransposed),
                                Number(static_cast<int64_t>(SizeBytes(c.type))),
                                Switch(c.type == DataType::kBf16),
                                Number(static_cast<int64_t>(c.math)),
                                Number(c.spatial_rank),
                                Switch(IsChannelsLast(c.in_layout)),
                                Log(flops),
                                Log(bytes),
                                Log(flops / bytes),
                                Log(outputs),
                                Log(reduction),
                                TwosIn(c.in_channels),
                                TwosIn(c.out_channels),
                                TwosIn(c.batch),
                                TwosIn(out[2]),
                                Log(pixels),
                                Log(outputs * Number(c.out_channels)),
                                Log(reduction * Number(c.out_channels)),
                                std::log2(Number(c.out_channels) / Number(c.in_channels)),
                                Switch(c.groups > 1 && c.groups == c.in_channels),
                                Log(Number(c.alignment_bytes))};
  const std::vector<double> of_tiles = ConvTileValues(c);
  values.insert(values.end(), of_tiles.begin(), of_tiles.end());
  return values;
}

std::string LabelOf(const Conv& conv) {
  const int rank = conv.spatial_rank;
  std::string text = fmt::format("conv {} {}x{}x{} k{} {}", Name(conv.direction), conv.batch,
                                 conv.in_channels, ShortText(conv.in, rank, false),
                                 conv.out_channels, ShortText(conv.filter, rank, false));
  const auto add = [&](const char* letter, const Spatial& extents, int64_t usual) {
    if (!IsAll(extents, rank, usual)) {
      text += fmt::format(" {}{}", letter, ShortText(extents, rank, true));
    }
  };
  add("p", conv.pad, 0);
  add("s", conv.stride, 1);
  add("d", conv.dilation, 1);
  if (conv.groups != 1) text += fmt::format(" g{}", conv.groups);
  if (conv.mode == ConvMode::kTransposed) text += " transposed";
  if (IsChannelsLast(conv.in_layout) || IsChannelsLast(conv.out_layout)) {
    text += fmt::format(" {}", Name(conv.in_layout));
    if (conv.out_layout != conv.in_layout) text += fmt::format("->{}", Name(conv.out_layout));
  }
  if (conv.bias) text += " +bias";
  if (conv.math != MathMode::kStrict) text += fmt::format(" {}", Name(conv.math));
  return text + fmt::format(" {}", Name(conv.type));
}

}  // namespace attune
