// A quicker query of callers' queues than Device::StateOf, on some devices.
#pragma once

#include <cstdint>

#include "attune/base/status.h"

namespace attune {

// A second interface of devices with queues that graphs can capture. Thread-safe.
class RecordingQueues {
 public:
  virtual ~RecordingQueues() = default;

  // StateOf(queue).recording: the graph that `queue` is being captured into; 0 if launches are
  // executed.
  virtual Result<uint64_t> RecordingOf(void* queue) = 0;
};

}  // namespace attune
