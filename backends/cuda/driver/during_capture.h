// Calls that a thread may make while another captures a graph.
#pragma once

#include <cuda.h>

#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// While it lives, this thread may allocate, free and load during captures, its own or of other
// threads. Otherwise these calls would fail and void the capture. Work of these calls must not be
// enqueued on the captured queue.
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
