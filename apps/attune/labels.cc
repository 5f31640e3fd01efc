#include "apps/attune/labels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {

std::string Label(const Problem& problem) { return problem.op().LabelOf(problem); }

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

std::string FormatRateOf(const Problem& problem, double time_ns) {
  const Rates rates = RatesOf(problem, time_ns);
  const bool is_memory_bound = problem.op().IsMemoryBound();
  const double rate = is_memory_bound ? rates.bytes : rates.flops;
  return rate > 0 ? FormatRate(rate, is_memory_bound ? "B/s" : "FLOP/s") : "";
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
