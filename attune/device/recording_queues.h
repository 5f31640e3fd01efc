// What some devices tell of the queues of their callers more quickly than by Device::StateOf.
#pragma once

#include <cstdint>

#include "attune/base/status.h"

namespace attune {

// A second interface of devices whose queues can be captured into graphs. Thread-safe.
class RecordingQueues {
 public:
  virtual ~RecordingQueues() = default;

  // StateOf(queue).recording: the graph that `queue` is being captured into; 0 if launches are
  // executed.
  virtual Result<uint64_t> RecordingOf(void* queue) = 0;
};

}  // namespace attune
