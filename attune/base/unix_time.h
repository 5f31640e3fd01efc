// The clock of the system, for moments that are stored or sent to other processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace attune {

// Nanoseconds since 1970. It may be set back: durations are by SteadyNowNs().
inline int64_t UnixNowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// "2026-11-23 18:04:05", in the time zone of this machine; of nanoseconds since 1970.
std::string FormatMoment(int64_t unix_ns);

}  // namespace attune
