// An optional interface of a BlockTimer: takes samples of metrics other than time.
#pragma once

#include <cstddef>

#include <tl/expected.hpp>

#include "attune/base/status.h"
#include "attune/trial/figure.h"
#include "attune/trial/trial.h"

namespace attune {

// Uses the candidate numbers of the timer. A caller that measures metrics checks whether a timer
// has this interface.
class FigureMeter {
 public:
  virtual ~FigureMeter() = default;

  // One sample of the metrics in `request` for candidate `index`, which is launched as often as
  // they need. A Failure ends the race of that candidate only; the timer's generation changes as it
  // does when a block fails.
  virtual tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest& request) = 0;

  // Ok if the device can measure the metrics in `request`; kUnsupported or kUnavailable name the
  // missing part.
  virtual Status CheckMeter(const MeterRequest& request) = 0;
};

}  // namespace attune
