#include "attune/model/shape_features.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/launch_features.h"

namespace attune {
namespace {

constexpr size_t kLinear = 3;  // One, flops, bytes.

double Number(int64_t x) { return static_cast<double>(x); }
double Log(double x) { return std::log2(std::max(x, 1.0)); }
double Log(int64_t x) { return Log(Number(x)); }
double Flag(bool x) { return x ? 1 : 0; }

// How often 2 divides it, at most 6 times: widths of loads and tiles.
double TwosIn(int64_t x) {
  double twos = 0;
  for (; twos < 6 && x > 0 && x % 2 == 0; x /= 2) ++twos;
  return twos;
}

double PaddedTo(double x, double tile) { return std::ceil(x / tile) * tile; }

// What a choice depends on beside the extents: the product of matrices that the convolution is in
// its direction, what tiles waste of it and of the image, and how large what is read and written
// is. Trees divide by one column at a time, so that products of extents are columns of their own.
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

std::vector<double> ConvValues(const Conv& c) {
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
                                Flag(c.mode == ConvMode::kTransposed),
                                Number(static_cast<int64_t>(SizeBytes(c.type))),
                                Flag(c.type == DataType::kBf16),
                                Number(static_cast<int64_t>(c.math)),
                                Number(c.spatial_rank),
                                Flag(IsChannelsLast(c.in_layout)),
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
                                Flag(c.groups > 1 && c.groups == c.in_channels),
                                Log(Number(c.alignment_bytes))};
  const std::vector<double> of_tiles = ConvTileValues(c);
  values.insert(values.end(), of_tiles.begin(), of_tiles.end());
  return values;
}

std::vector<double> GemmValues(const Gemm& g) {
  const Problem problem = g;
  const double flops = std::max(Flops(problem), 1.0);
  const double bytes = CompulsoryBytes(problem);
  return {1,
          flops,
          bytes,
          Log(g.m),
          Log(g.n),
          Log(g.k),
          Log(g.batch_count),
          Flag(g.trans_a == Transpose::kYes),
          Flag(g.trans_b == Transpose::kYes),
          Number(static_cast<int64_t>(SizeBytes(g.type))),
          Flag(g.type == DataType::kBf16),
          Number(static_cast<int64_t>(g.math)),
          Flag(g.beta != ScalarClass::kZero),
          Flag(g.bias != Bias::kNone),
          Flag(g.activation != Activation::kNone),
          Log(flops),
          Log(bytes),
          Log(flops / bytes),
          TwosIn(g.m),
          TwosIn(g.n),
          TwosIn(g.k),
          TwosIn(g.lda),
          TwosIn(g.ldb),
          Log(std::min({g.m, g.n, g.k})),
          Log(std::max({g.m, g.n, g.k})),
          std::log2(Number(g.m) / Number(g.n)),
          Log(Number(g.m) * Number(g.n)),
          Log(Number(g.alignment_bytes))};
}

}  // namespace

Result<FeatureSet> ShapeFeatures(std::string_view operator_name) {
  FeatureSet features;
  features.linear_operation = kLinear;
  if (operator_name == "conv") {
    features.name = "conv_shape_3";
    features.operation = {"one",         "flops",          "bytes",         "batch",
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
    return features;
  }
  if (operator_name == "gemm") {
    features.name = "gemm_shape_1";
    features.operation = {
        "one",        "flops",     "bytes",      "m",         "n",      "k",       "batch",
        "trans_a",    "trans_b",   "type_bytes", "bf16",      "math",   "beta",    "bias",
        "activation", "log_flops", "log_bytes",  "intensity", "twos_m", "twos_n",  "twos_k",
        "twos_lda",   "twos_ldb",  "smallest",   "largest",   "aspect", "outputs", "alignment"};
    return features;
  }
  return Unsupported(
      fmt::format("There are features of convolutions and products, and none of the operator '{}'.",
                  Excerpt(operator_name)));
}

Result<std::string_view> OperatorOfFeatures(std::string_view name) {
  for (const std::string_view operator_name : kModelledOperators) {
    ATTUNE_ASSIGN_OR_RETURN(const FeatureSet features, FeaturesCalled(name, operator_name));
    if (features.name == name) return operator_name;
  }
  return Unsupported(
      fmt::format("The model is of features '{}', which are not of shapes alone, so it cannot be "
                  "asked about a problem.",
                  Excerpt(name)));
}

FeatureRow ShapeRow(const Problem& problem, const std::string& algorithm) {
  if (const Conv* conv = std::get_if<Conv>(&problem)) return {algorithm, ConvValues(*conv), {}};
  return {algorithm, GemmValues(std::get<Gemm>(problem)), {}};
}

}  // namespace attune
