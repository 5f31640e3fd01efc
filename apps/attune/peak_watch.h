// Peaks of a machine that a run finds to be too low.
#pragma once

#include <cstdint>
#include <functional>

#include "apps/attune/workshop.h"
#include "attune/tuner/tuner.h"

namespace attune {

// A candidate above the peak of arithmetic proves that the peak was measured under load: it is
// measured again, between two problems, and the highest counts from then on.
class PeakWatch {
 public:
  // Until `end_ns` of the steady clock. Borrows both.
  PeakWatch(Workshop& workshop, Tuner& tuner, int64_t end_ns)
      : workshop_(workshop), tuner_(tuner), end_ns_(end_ns) {}

  // Between two problems; measures while `go_on` returns true.
  void Note(const TuneReport& report, const std::function<bool()>& go_on);

 private:
  // Half a second each; a machine that is always busy has no peak to be found.
  static constexpr int kMostAttempts = 5;

  Workshop& workshop_;
  Tuner& tuner_;
  const int64_t end_ns_;
  int attempts_ = 0;
};

}  // namespace attune
