// A libcuda.so.1 for tests without a GPU, with what the preload library asks a driver. Its state
// comes from the environment, so that a test says it:
//
//   STAND_IN_CONTEXT=own        a context that is not the primary one of its device is current
//   STAND_IN_CAPTURES=1         streams are captured; the legacy one must not be asked then
//   STAND_IN_DEVICE=N           the device that is current; 0
//   DOUBLE_SAYS=1               says on standard error what may be done beside captures

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

constexpr int kMaxDevices = 4;
char contexts[kMaxDevices + 1];  // Addresses to stand for contexts; the last is no primary one.

bool Is(const char* variable, const char* wanted) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::strcmp(value, wanted) == 0;
}

int Device() {
  const char* value = std::getenv("STAND_IN_DEVICE");
  return value == nullptr ? 0 : std::atoi(value);
}

CUcontext Context(int index) { return reinterpret_cast<CUcontext>(&contexts[index]); }

}  // namespace

extern "C" {

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = Context(Is("STAND_IN_CONTEXT", "own") ? kMaxDevices : Device());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = Device();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = Context(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const bool captures = Is("STAND_IN_CAPTURES", "1");
  if (captures && stream == CU_STREAM_LEGACY) std::abort();
  *status = captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(current, *mode);
  if (Is("DOUBLE_SAYS", "1")) std::fprintf(stderr, "mode %d\n", static_cast<int>(current));
  return CUDA_SUCCESS;
}

}  // extern "C"
