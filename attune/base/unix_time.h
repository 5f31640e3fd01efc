// The clock of the system, for moments that are kept or told to others.
#pragma once

#include <chrono>
#include <cstdint>

namespace attune {

// Nanoseconds since 1970. It may be set back: durations are by SteadyNowNs().
inline int64_t UnixNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace attune
