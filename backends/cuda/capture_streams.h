// Streams of attune's own to capture launches on, instead of those of the program, to which others
// may enqueue meanwhile.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <mutex>

#include "attune/base/status.h"
#include "backends/cuda/driver.h"

namespace attune::cuda {

// One stream for each priority, which a graph takes over from where it was captured. Thread-safe.
class CaptureStreams {
 public:
  explicit CaptureStreams(const Driver& driver) : driver_(driver) {}
  CaptureStreams(const CaptureStreams&) = delete;
  CaptureStreams& operator=(const CaptureStreams&) = delete;
  // REQUIRES: the context of the streams is current.
  ~CaptureStreams();

  // What `use` returns, which has a stream of the priority of `like` for itself meanwhile.
  // REQUIRES: the context of `like` is current.
  Status With(CUstream like, const std::function<Status(CUstream)>& use);

 private:
  const Driver& driver_;
  std::mutex mutex_;  // Held while somebody uses a stream; guards by_priority_.
  std::map<int, CUstream> by_priority_;
};

}  // namespace attune::cuda
