// What a thread may do while somebody captures a graph.
#pragma once

#include <cuda.h>

#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// While it lives, this thread may allocate, free and load although somebody captures a graph, which
// by itself would make these calls fail and the capture void. What is done so must not be enqueued
// on the queue that is captured.
class DuringCapture {
 public:
  explicit DuringCapture(const Driver& driver) : driver_(driver) { Exchange(); }
  ~DuringCapture() { Exchange(); }
  DuringCapture(const DuringCapture&) = delete;
  DuringCapture& operator=(const DuringCapture&) = delete;

 private:
  void Exchange() { driver_.cuThreadExchangeStreamCaptureMode(&other_mode_); }

  const Driver& driver_;
  CUstreamCaptureMode other_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace attune::cuda
