#include "backends/cuda/capture_streams.h"

namespace attune::cuda {

CaptureStreams::~CaptureStreams() {
  for (const auto& [priority, stream] : by_priority_) driver_.cuStreamDestroy(stream);
}

Status CaptureStreams::With(CUstream like, const std::function<Status(CUstream)>& use) {
  int priority = 0;
  ATTUNE_RETURN_IF_ERROR(CudaStatus(driver_, driver_.cuStreamGetPriority(like, &priority),
                                    "Cannot tell the priority of a stream"));
  const std::lock_guard lock(mutex_);
  CUstream& stream = by_priority_[priority];
  if (stream == nullptr) {
    ATTUNE_RETURN_IF_ERROR(CudaStatus(
        driver_, driver_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, priority),
        "Cannot create a stream"));
  }
  return use(stream);
}

}  // namespace attune::cuda
