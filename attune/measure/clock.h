// Wall-clock time for budgets, behind an interface so that tests control time.
#pragma once

#include <cstdint>

namespace attune {

// A clock that never goes backwards. It keeps budgets; Device::TimeNs judges candidates instead, so
// that a fake clock cannot favour one of them.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary fixed moment.
  virtual int64_t NowNs() = 0;
};

// The system's monotonic clock. Thread-safe.
class SteadyClock final : public Clock {
 public:
  int64_t NowNs() override;
};

}  // namespace attune
