#include "extensions/interposers/cublas/device_runtimes.h"

#include <dlfcn.h>

#include <cstdio>

#include "extensions/interposers/preload/locked.h"

namespace attune::cublas {
namespace {

using interposer::Outcome;

constexpr const char* kDriverFile = "libcuda.so.1";

template <class Function>
bool Bind(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// Two steps, so that a name that cuda.h redefines is looked up under its new name.
#define ATTUNE_CUDA_TEXT(NAME) #NAME
#define ATTUNE_CUDA_BIND(LIBRARY, NAME, FUNCTION) Bind(LIBRARY, ATTUNE_CUDA_TEXT(NAME), FUNCTION)

}  // namespace

// The program has loaded the driver by the time it has a handle.
bool DeviceRuntimes::FindDriver() {
  if (has_driver_.load(std::memory_order_acquire)) return true;
  const interposer::Locked lock(opening_);
  if (has_driver_.load(std::memory_order_acquire)) return true;
  void* library = ::dlopen(kDriverFile, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  if (!ATTUNE_CUDA_BIND(library, cuCtxGetCurrent, get_current_) ||
      !ATTUNE_CUDA_BIND(library, cuCtxGetDevice, get_device_) ||
      !ATTUNE_CUDA_BIND(library, cuDevicePrimaryCtxRetain, retain_) ||
      !ATTUNE_CUDA_BIND(library, cuDevicePrimaryCtxRelease, release_) ||
      !ATTUNE_CUDA_BIND(library, cuStreamIsCapturing, is_capturing_) ||
      !ATTUNE_CUDA_BIND(library, cuThreadExchangeStreamCaptureMode, exchange_mode_)) {
    ::dlclose(library);
    return false;
  }
  has_driver_.store(true, std::memory_order_release);
  return true;
}

bool DeviceRuntimes::IsPrimary(CUcontext context, CUdevice device) const {
  CUcontext primary = nullptr;
  if (retain_(&primary, device) != CUDA_SUCCESS) return false;
  release_(device);
  return primary == context;
}

// The legacy stream cannot be captured, and asking it would end the capture of another one.
bool DeviceRuntimes::IsCaptured(void* queue) const {
  if (queue == static_cast<void*>(CU_STREAM_LEGACY)) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return is_capturing_(static_cast<CUstream>(queue), &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

attune_runtime* DeviceRuntimes::Create(CUdevice device) const {
  char name[32];
  std::snprintf(name, sizeof name, "cuda:%d", device);
  attune_options options = {};
  options.device = name;
  // Tuning in the background would compete for the program's own device.
  options.policy = ATTUNE_NEVER;
  options.known_only = 1;
  options.ieee_special_values = 1;
  // Allocating would end the capture of another stream, unless this thread relaxes its mode.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  exchange_mode_(&mode);
  attune_runtime* runtime = interposer::the_service.Create(options);
  exchange_mode_(&mode);
  return runtime;
}

Outcome DeviceRuntimes::Answer(const Slot& slot, attune_runtime*& runtime) const {
  runtime = slot.runtime;
  return runtime != nullptr ? Outcome::kServed : Outcome::kFailed;
}

Outcome DeviceRuntimes::Find(void* queue, attune_runtime*& runtime) {
  if (!FindDriver()) return Outcome::kFailed;
  CUcontext context = nullptr;
  if (get_current_(&context) != CUDA_SUCCESS || context == nullptr) return Outcome::kContext;
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (slots_[i].context == context) return Answer(slots_[i], runtime);
  }
  return Open(queue, context, runtime);
}

Outcome DeviceRuntimes::Open(void* queue, CUcontext context, attune_runtime*& runtime) {
  CUdevice device = 0;
  if (get_device_(&device) != CUDA_SUCCESS || !IsPrimary(context, device)) {
    return Outcome::kContext;
  }
  // Creating a run time must not become part of a graph.
  if (IsCaptured(queue)) return Outcome::kCapture;
  const interposer::Locked lock(opening_);
  const int count = count_.load(std::memory_order_acquire);
  for (int i = 0; i < count; ++i) {
    if (slots_[i].context == context) return Answer(slots_[i], runtime);
  }
  if (count == kMaxDevices) return Outcome::kFailed;
  slots_[count] = {context, Create(device)};
  count_.store(count + 1, std::memory_order_release);
  return Answer(slots_[count], runtime);
}

}  // namespace attune::cublas
