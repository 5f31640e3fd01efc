// The seam between the policy of measuring and the machine: something that can take one sample.
#pragma once

#include <cstddef>
#include <optional>

#include <tl/expected.hpp>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/trial.h"

namespace attune {

// A launch that lasts longer hardly notices what ran before it, and would cost as much again: it is
// warmed up before its first block only.
inline constexpr double kLongLaunchNs = 20e6;

// Times blocks of launches of candidates that were made ready before, numbered from 0.
// Implementations warm a candidate up (one untimed launch) before its first block, and before each
// warm one if its launches are not long.
class BlockTimer {
 public:
  virtual ~BlockTimer() = default;

  // Times one block of candidate `index`: nanoseconds of one launch, positive. A Failure ends that
  // candidate's race, nobody else's.
  virtual tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) = 0;

  // Changes when the process that measures had to be restarted. Samples from before and after are
  // not comparable (other addresses, other pages, another frequency history), so all of them are
  // discarded and the rounds start again without the culprit.
  virtual int generation() const = 0;

  // What the device says of itself between two blocks; nothing if it does not tell. kUnavailable,
  // with the reason, when asking has just done harm: it is never asked again then.
  virtual Result<std::optional<DeviceConditions>> Conditions() {
    return std::optional<DeviceConditions>();
  }
};

}  // namespace attune
