// Devices that make a timed block ready once and take it again and again.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/device/device.h"

namespace attune {

// Launches that are ready to be timed together, as often as somebody likes.
class TimedBlock {
 public:
  virtual ~TimedBlock() = default;

  // As Device::TimeNs of what it was made of.
  virtual Result<double> TimeNs() = 0;
};

// Of devices on which it takes time to make launches ready that are to run without gaps: a graph of
// 700 launches of 3 us, each recorded once. Whoever times the same launches every few milliseconds
// asks a device whether it is such a one.
class RepeatingDevice : public Device {
 public:
  // Null where the block cannot be made ready: TimeNs times it then. It is valid as long as
  // `executable` is, and as long as no memory that `arguments` name is freed or moved; its launches
  // do again what those did that were recorded. REQUIRES: `executable` launches on `arguments`
  // itself, every time (Executable::launched).
  virtual Result<std::unique_ptr<TimedBlock>> MakeBlock(Executable& executable,
                                                        const Arguments& arguments,
                                                        const TimingRequest& request) = 0;
};

}  // namespace attune
