#include "backends/cuda/cudnn/cudnn.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "backends/host/shared_library.h"

namespace attune::cuda {
namespace {

constexpr size_t kMostReasonBytes = 256;

// The one that this was compiled against: enumerations grow with the major version.
const std::string kFileName = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);

}  // namespace

cudnnDataType_t CudnnTypeOf(DataType type) {
  switch (type) {
    case DataType::kF16:
      return CUDNN_DATA_HALF;
    case DataType::kBf16:
      return CUDNN_DATA_BFLOAT16;
    case DataType::kF64:
      return CUDNN_DATA_DOUBLE;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
Cudnn::Cudnn() {
  report_.name = "cudnn";
  const Result<host::SharedLibrary> library = host::SharedLibrary::Open({kFileName});
  if (!library.ok()) {
    report_.missing =
        fmt::format("{} Package cudnn9-cuda-13 brings it, or PyPI's nvidia-cudnn-cu13.",
                    library.error().message());
    return;
  }
  report_.path = library->path();
  report_.build_id = library->build_id();
  report_.available = true;
#define ATTUNE_CUDNN_FIND(NAME)                                  \
  NAME = reinterpret_cast<decltype(NAME)>(library->Find(#NAME)); \
  report_.available = report_.available && NAME != nullptr;
  ATTUNE_CUDNN_FUNCTIONS(ATTUNE_CUDNN_FIND)
#undef ATTUNE_CUDNN_FIND
  if (!report_.available) {
    report_.missing = fmt::format("{} lacks a function of cuDNN {}.{}.", library->path(),
                                  CUDNN_MAJOR, CUDNN_MINOR);
    return;
  }
  const size_t version = cudnnGetVersion();
  report_.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}
#pragma GCC diagnostic pop

Result<cudnnHandle_t> Cudnn::HandleOf(CUstream stream) const {
  if (!available()) return Unavailable(report_.missing);
  const std::lock_guard lock(mutex_);
  cudnnHandle_t& handle = handles_[stream];
  if (handle == nullptr) {
    ATTUNE_RETURN_IF_ERROR(Check(cudnnCreate(&handle), "cannot make a handle"));
  }
  return handle;
}

Status Cudnn::Direct(cudnnHandle_t handle, CUstream stream) const {
  const auto place = directed_.find(handle);
  if (place != directed_.end() && place->second == stream) return Status::Ok();
  // A refused handle still enqueues on its old stream, so the next call tries again.
  ATTUNE_RETURN_IF_ERROR(Check(cudnnSetStream(handle, stream), "does not take the stream"));
  directed_[handle] = stream;
  return Status::Ok();
}

std::string Cudnn::LastReason() const {
  if (cudnnGetLastErrorString == nullptr) return {};
  char text[kMostReasonBytes] = {};
  cudnnGetLastErrorString(text, sizeof(text));
  text[sizeof(text) - 1] = '\0';
  std::string reason(text);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  reason.erase(reason.find_last_not_of(' ') + 1);
  return reason.empty() ? reason : fmt::format(" ({})", reason);
}

Status Cudnn::Check(cudnnStatus_t code, std::string_view what) const {
  if (code == CUDNN_STATUS_SUCCESS) return Status::Ok();
  const std::string message = fmt::format("cuDNN {} {}: {}{}.", report_.version, what,
                                          cudnnGetErrorString(code), LastReason());
  // From version 9 on, thousands are classes: 2000 bad parameters, 3000 unsupported.
  if (code == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      code == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return ResourceExhausted(message);
  }
  const int kind = static_cast<int>(code) / 1000;
  return kind == 2 || kind == 3 ? Unsupported(message) : Internal(message);
}

}  // namespace attune::cuda
