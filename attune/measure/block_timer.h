// Separates the policy of measuring from the machine: an interface that takes one sample.
#pragma once

#include <cstddef>
#include <optional>

#include <tl/expected.hpp>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/trial.h"

namespace attune {

// A longer launch hardly depends on earlier work, and warming up would cost as much again: it is
// warmed up before its first block only.
inline constexpr double kLongLaunchNs = 20e6;

// Times blocks of launches of candidates that were prepared before, numbered from 0.
// Implementations warm a candidate up (one untimed launch) before its first block, and before each
// warm one if its launches are not long.
class BlockTimer {
 public:
  virtual ~BlockTimer() = default;

  // Times one block of candidate `index`: nanoseconds of one launch, positive. A Failure ends the
  // race of that candidate only.
  virtual tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) = 0;

  // Changes when the process that measures had to be restarted. Samples from before and after are
  // not comparable (other addresses, other pages, another frequency history), so all of them are
  // discarded and the rounds start again without the culprit.
  virtual int generation() const = 0;

  // Device conditions between two blocks; nothing if the device reports none. kUnavailable, with
  // the reason, if the query itself did harm: it is never repeated then.
  virtual Result<std::optional<DeviceConditions>> Conditions() {
    return std::optional<DeviceConditions>();
  }
};

}  // namespace attune
