// The system's monotonic clock, which all processes of a machine share.
#pragma once

#include <chrono>
#include <cstdint>

namespace attune {

// CLOCK_MONOTONIC in nanoseconds.
inline int64_t SteadyNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace attune
