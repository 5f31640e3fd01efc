#include "apps/attune/duration.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace attune {
namespace {

struct Unit {
  std::string_view name;
  double length_ns;
};

constexpr std::array<Unit, 6> kUnits = {
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

// A year: longer than any run, and far from the end of 64 bits.
constexpr double kLongestNs = 365.0 * 24 * 3600e9;

Status BadDuration(std::string_view text) {
  return InvalidArgument(
      fmt::format("'{}' is not a duration. Write a number and a unit: 500ms, 2s, 3m or 1h; "
                  "only 0 needs none.",
                  text));
}

}  // namespace

Result<int64_t> ParseDurationNs(std::string_view text) {
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return BadDuration(text);
  const std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  if (unit.empty() && number == 0) return int64_t{0};
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    const double length_ns = number * known.length_ns;
    if (length_ns > kLongestNs) {
      return InvalidArgument(fmt::format("The duration '{}' is longer than a year.", text));
    }
    return static_cast<int64_t>(std::llround(length_ns));
  }
  return BadDuration(text);
}

std::string FormatTime(double time_ns) {
  constexpr std::array<Unit, 4> kShown = {{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  size_t index = 0;
  // 999.5 rounds to four digits, so the next unit takes over a little before 1000.
  while (index + 1 < kShown.size() && time_ns >= 999.5 * kShown[index].length_ns) ++index;
  const double value = time_ns / kShown[index].length_ns;
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kShown[index].name);
}

std::string FormatWait(int64_t wait_ns) {
  const int64_t seconds = (wait_ns + 500'000'000) / 1'000'000'000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

}  // namespace attune
