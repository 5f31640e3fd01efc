// What a BlockTimer may be beside that: something that takes samples of figures other than time.
#pragma once

#include <cstddef>

#include <tl/expected.hpp>

#include "attune/base/status.h"
#include "attune/trial/figure.h"
#include "attune/trial/trial.h"

namespace attune {

// Of the candidates of the timer, by their numbers there. Whoever measures figures asks a timer
// whether it is such a one.
class FigureMeter {
 public:
  virtual ~FigureMeter() = default;

  // One sample of the figures that `request` names, of candidate `index`, which is launched for it
  // as often as they need. A Failure ends that candidate's race, nobody else's; the timer's
  // generation changes as it does when a block fails.
  virtual tl::expected<MeterReading, Failure> Meter(size_t index, const MeterRequest& request) = 0;

  // Whether the device can measure what `request` names at all; kUnsupported or kUnavailable say
  // what is missing.
  virtual Status CheckMeter(const MeterRequest& request) = 0;
};

}  // namespace attune
