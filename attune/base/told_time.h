// What another program says that something took.
#pragma once

namespace attune {

// Whether it can have been measured: from a picosecond, since some tell the time of one step of
// many, to a week. Not 0, less, or what is no number.
inline bool CanBeMeasured(double time_ns) {
  constexpr double kLeastNs = 1e-3;
  constexpr double kMostNs = 7 * 24 * 3600 * 1e9;
  return time_ns >= kLeastNs && time_ns <= kMostNs;
}

}  // namespace attune
