#include "attune/measure/clock.h"

#include <chrono>

namespace attune {

int64_t SteadyClock::NowNs() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
}

}  // namespace attune
