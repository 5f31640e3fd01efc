// A clock that stands still until a test moves it.
#pragma once

#include <cstdint>

#include "attune/measure/clock.h"

namespace attune {

class FakeClock final : public Clock {
 public:
  int64_t NowNs() override { return now_ns_; }
  void Advance(int64_t duration_ns) { now_ns_ += duration_ns; }

 private:
  int64_t now_ns_ = 0;
};

}  // namespace attune
