// Times that other programs report.
#pragma once

namespace attune {

// True if the time can be a measurement: from a picosecond, since some programs report the time of
// one step of many, to a week. False for 0, negative times and NaN.
inline bool CanBeMeasured(double time_ns) {
  constexpr double kLeastNs = 1e-3;
  constexpr double kMostNs = 7 * 24 * 3600 * 1e9;
  return time_ns >= kLeastNs && time_ns <= kMostNs;
}

}  // namespace attune
