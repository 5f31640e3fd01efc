#include "apps/attune/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/problem/own_kernel.h"

namespace attune {
namespace {

// "2" for {1,2,2} in 2-D and for {2,2,2} in 3-D, "1x2" where extents differ.
std::string SpatialText(const Spatial& extents, int rank, bool collapse) {
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

std::string ConvLabel(const Conv& conv) {
  const int rank = conv.spatial_rank;
  std::string text = fmt::format("conv {} {}x{}x{} k{} {}", Name(conv.direction), conv.batch,
                                 conv.in_channels, SpatialText(conv.in, rank, false),
                                 conv.out_channels, SpatialText(conv.filter, rank, false));
  const auto add = [&](const char* letter, const Spatial& extents, int64_t usual) {
    if (!IsAll(extents, rank, usual)) {
      text += fmt::format(" {}{}", letter, SpatialText(extents, rank, true));
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

std::string GemmLabel(const Gemm& gemm) {
  const Gemm packed = Normalized([&] {
    Gemm plain = gemm;
    plain.lda = plain.ldb = plain.ldc = 0;
    return plain;
  }());
  std::string text = fmt::format("gemm {}x{}x{} {}{}", gemm.m, gemm.n, gemm.k,
                                 gemm.trans_a == Transpose::kYes ? 't' : 'n',
                                 gemm.trans_b == Transpose::kYes ? 't' : 'n');
  if (gemm.batch_count != 1) text += fmt::format(" b{}", gemm.batch_count);
  if (packed.lda != gemm.lda || packed.ldb != gemm.ldb || packed.ldc != gemm.ldc) {
    text += fmt::format(" ld{}/{}/{}", gemm.lda, gemm.ldb, gemm.ldc);
  }
  if (gemm.alpha == ScalarClass::kZero) text += " alpha zero";
  if (gemm.alpha == ScalarClass::kOther) text += " alpha other";
  if (gemm.beta != ScalarClass::kZero) text += " +C";
  if (gemm.bias != Bias::kNone) text += " +bias";
  if (gemm.activation != Activation::kNone) text += " +act";
  if (gemm.math != MathMode::kStrict) text += fmt::format(" {}", Name(gemm.math));
  text += fmt::format(" {}", Name(gemm.type));
  if (gemm.c_type != gemm.type) text += fmt::format("->{}", Name(gemm.c_type));
  return text;
}

std::string_view AttributeOr(const OtherOp& other, const char* key, std::string_view otherwise) {
  const auto found = other.attributes.find(key);
  return found == other.attributes.end() ? otherwise : std::string_view(found->second);
}

// "2" where height and width agree, "1x2" where not.
std::string PairText(const OtherOp& other, const std::string& name) {
  const std::string_view height = AttributeOr(other, (name + "_h").c_str(), "?");
  const std::string_view width = AttributeOr(other, (name + "_w").c_str(), "?");
  return height == width ? std::string(height) : fmt::format("{}x{}", height, width);
}

// Of an image of the published lists; depth where there is any.
std::string ImageText(const OtherOp& other) {
  const std::string_view depth = AttributeOr(other, "in_d", "0");
  return fmt::format("{}x{}x{}{}x{}", AttributeOr(other, "batchsize", "?"),
                     AttributeOr(other, "in_channels", "?"),
                     depth == "0" ? "" : fmt::format("{}x", depth), AttributeOr(other, "in_h", "?"),
                     AttributeOr(other, "in_w", "?"));
}

// "pool 128x64x112x112 max 3 s2 f32".
std::string PoolLabel(const OtherOp& other) {
  const std::string_view input = AttributeOr(other, "input", "");
  std::string text = fmt::format(
      "pool {}{} {} {}x{}", AttributeOr(other, "forw", "0") == "0" ? "" : "fwd ",
      input.empty() ? ImageText(other) : std::string(input), AttributeOr(other, "mode", "max"),
      AttributeOr(other, "win_h", "?"), AttributeOr(other, "win_w", "?"));
  if (const std::string pad = PairText(other, "pad"); pad != "0") text += " p" + pad;
  if (const std::string stride = PairText(other, "pool_stride"); stride != "1") {
    text += " s" + stride;
  }
  return text;
}

// "bnorm train 32x64x56x56 spatial nhwc".
std::string BatchNormLabel(const OtherOp& other) {
  const std::string_view forward = AttributeOr(other, "forw", "1");
  std::string text = fmt::format("bnorm {} {}",
                                 forward == "1"   ? "train"
                                 : forward == "2" ? "infer"
                                                  : "bwd",
                                 ImageText(other));
  if (AttributeOr(other, "mode", "0") == "1") text += " spatial";
  const std::string_view layout = AttributeOr(other, "layout", "nchw");
  if (layout.ends_with('c')) text += fmt::format(" {}", layout);
  return text;
}

// "matmul m=4096 n=128".
std::string OwnKernelLabel(const OwnKernelProblem& own) {
  std::string text = own.name;
  for (const auto& [name, value] : own.sizes) text += fmt::format(" {}={}", name, value);
  return text;
}

std::string OtherLabel(const OtherOp& other) {
  const bool known_form = other.attributes.contains("in_h") || other.attributes.contains("input");
  std::string text;
  if (known_form && other.op == "pool") {
    text = PoolLabel(other);
  } else if (known_form && other.op == "bnorm") {
    text = BatchNormLabel(other);
  } else {
    text = other.op;
    for (const auto& [key, value] : other.attributes) text += fmt::format(" {}={}", key, value);
    return text;
  }
  return text + fmt::format(" {}", AttributeOr(other, "type", "f32"));
}

}  // namespace

std::string Label(const Problem& problem) {
  if (const auto* conv = std::get_if<Conv>(&problem)) return ConvLabel(*conv);
  if (const auto* gemm = std::get_if<Gemm>(&problem)) return GemmLabel(*gemm);
  if (const auto own = OwnKernelOf(problem); own.ok()) return OwnKernelLabel(*own);
  return OtherLabel(std::get<OtherOp>(problem));
}

std::string FormatSpeedup(double speedup) {
  return speedup < 1000 ? fmt::format("{:.2f}x", speedup) : fmt::format("{:.1e}x", speedup);
}

std::string FormatRate(double rate, const char* unit) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"", "k", "M", "G", "T", "P"};
  size_t index = 0;
  while (rate >= 999.5 && index + 1 < kPrefixes.size()) {
    rate /= 1000;
    ++index;
  }
  return fmt::format("{:.{}f} {}{}", rate,
                     rate < 9.995   ? 2
                     : rate < 99.95 ? 1
                                    : 0,
                     kPrefixes[index], unit);
}

std::string FormatConditions(const DeviceConditions& conditions) {
  std::vector<std::string> parts;
  if (conditions.compute_clock_mhz) {
    parts.push_back(fmt::format("{} MHz", *conditions.compute_clock_mhz));
  }
  if (conditions.memory_clock_mhz) {
    parts.push_back(fmt::format("memory {} MHz", *conditions.memory_clock_mhz));
  }
  if (conditions.power_w && conditions.power_limit_w) {
    parts.push_back(
        fmt::format("{:.0f} of {:.0f} W", *conditions.power_w, *conditions.power_limit_w));
  } else if (conditions.power_w) {
    parts.push_back(fmt::format("{:.0f} W", *conditions.power_w));
  } else if (conditions.power_limit_w) {
    parts.push_back(fmt::format("limit {:.0f} W", *conditions.power_limit_w));
  }
  if (conditions.temperature_c) parts.push_back(fmt::format("{} °C", *conditions.temperature_c));
  const std::string held_back_by = HeldBackText({conditions, std::nullopt});
  if (!held_back_by.empty()) parts.push_back("throttled: " + held_back_by);
  return parts.empty() ? "nothing is known" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string FormatShare(double fraction) {
  return fraction > 0 ? fmt::format("{:.0f}%", 100 * fraction) : "";
}

std::string FormatRoofline(double fraction) {
  return fraction > 1 ? ">100%" : FormatShare(fraction);
}

std::string RooflineNote(const Problem& problem, double fraction, const Peaks& peaks) {
  if (fraction <= 1) return "";
  if (IsBoundByArithmetic(problem, peaks)) {
    return fmt::format(
        "It reaches {} of the peak that was measured, so something else used the machine then. "
        "'attune tune' measures peaks again, and the highest count.",
        FormatShare(fraction));
  }
  return fmt::format(
      "It reaches {} of the roofline, which is that of main memory: caches held the operands "
      "('--cache cold' displaces them), or the machine was busy when peaks were measured.",
      FormatShare(fraction));
}

std::string FormatConfidence(double confidence) {
  constexpr double kMostTenths = 999;
  // 0.99 is not quite 990 tenths in binary.
  const double tenths = std::floor(1000 * confidence + 1e-6);
  return fmt::format("{:.1f}%", std::min(tenths, kMostTenths) / 10);
}

std::string FormatSpread(const Measurement& measurement) {
  // A time without confidence is of one sample: it has no interval.
  if (measurement.median_ns <= 0 || measurement.confidence <= 0) return "";
  return fmt::format("±{:.1f}%", 100 * RelativeSpread(measurement));
}

std::string Label(const Network& network) {
  const std::string model = NameAndVersion(network.model, network.model_version);
  if (network.framework.empty()) return model;
  return fmt::format("{} ({})", model,
                     NameAndVersion(network.framework, network.framework_version));
}

}  // namespace attune
