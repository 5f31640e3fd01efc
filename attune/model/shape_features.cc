#include "attune/model/shape_features.h"

#include <algorithm>
#include <cmath>
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

std::vector<double> ConvValues(const Conv& c) {
  const Spatial out = OutputExtent(c);
  const Problem problem = c;
  const double flops = std::max(Flops(problem), 1.0);
  const double bytes = CompulsoryBytes(problem);
  const double pixels = Number(out[0]) * Number(out[1]) * Number(out[2]);
  const double outputs = Number(c.batch) * pixels;
  const double reduction = Number(c.in_channels) / Number(c.groups) * Number(c.filter[0]) *
                           Number(c.filter[1]) * Number(c.filter[2]);
  return {1,
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
    features.name = "conv_shape_2";
    features.operation = {"one",          "flops",     "bytes",      "batch",        "in_channels",
                          "out_channels", "in_d",      "in_h",       "in_w",         "out_d",
                          "out_h",        "out_w",     "filter_d",   "filter_h",     "filter_w",
                          "stride_h",     "stride_w",  "dilation",   "groups",       "pad_h",
                          "pad_w",        "direction", "transposed", "type_bytes",   "bf16",
                          "math",         "rank",      "nhwc",       "log_flops",    "log_bytes",
                          "intensity",    "outputs",   "reduction",  "twos_c",       "twos_k",
                          "twos_n",       "twos_w",    "pixels",     "out_elements", "weights",
                          "widening",     "depthwise", "alignment"};
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
