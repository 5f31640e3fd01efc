// Devices that make a timed block ready once and take it again and again.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/device/device.h"

namespace attune {

// Launches that are ready to be timed together, any number of times.
class TimedBlock {
 public:
  virtual ~TimedBlock() = default;

  // As Device::TimeNs for the launches that it was made from.
  virtual Result<double> TimeNs() = 0;
};

// A device on which preparing launches to run without gaps takes time: a graph of 700 launches of 3
// us, each recorded once. Code that times the same launches every few milliseconds queries a device
// for this interface.
class RepeatingDevice : public Device {
 public:
  // Null if the block cannot be prepared: TimeNs times it then. It is valid as long as `executable`
  // is, and as long as no memory in `arguments` is freed or moved; its launches repeat the recorded
  // ones. REQUIRES: `executable` launches on `arguments` itself, every time (Executable::launched).
  virtual Result<std::unique_ptr<TimedBlock>> MakeBlock(Executable& executable,
                                                        const Arguments& arguments,
                                                        const TimingRequest& request) = 0;
};

}  // namespace attune
