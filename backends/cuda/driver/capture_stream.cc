#include "backends/cuda/driver/capture_stream.h"

#include "backends/cuda/driver/during_capture.h"

namespace attune::cuda {

CaptureStream::~CaptureStream() {
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
}

Status CaptureStream::With(const std::function<Status(CUstream)>& use) {
  const std::lock_guard lock(mutex_);
  if (stream_ == nullptr) {
    const DuringCapture allowed(driver_);
    ATTUNE_RETURN_IF_ERROR(CudaStatus(driver_,
                                      driver_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING),
                                      "Cannot create a stream"));
  }
  return use(stream_);
}

}  // namespace attune::cuda
