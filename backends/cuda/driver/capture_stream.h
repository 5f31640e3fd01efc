// A stream of attune's own for captures. Other threads may enqueue to the streams of the program at
// the same time.
#pragma once

#include <cuda.h>

#include <functional>
#include <mutex>

#include "attune/base/status.h"
#include "backends/cuda/driver/driver.h"

namespace attune::cuda {

// Created when it is first needed. Thread-safe.
class CaptureStream {
 public:
  explicit CaptureStream(const Driver& driver) : driver_(driver) {}
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;
  // REQUIRES: its context is current.
  ~CaptureStream();

  // Returns the result of `use`, which has exclusive use of the stream.
  // REQUIRES: the context is current.
  Status With(const std::function<Status(CUstream)>& use);

 private:
  const Driver& driver_;
  std::mutex mutex_;  // Held while the stream is in use.
  CUstream stream_ = nullptr;
};

}  // namespace attune::cuda
