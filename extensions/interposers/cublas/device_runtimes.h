// The run time of each device on which a program computes.
#pragma once

#include <pthread.h>

#include <atomic>

#include <cuda.h>

#include "extensions/interposers/preload/outcome.h"
#include "extensions/interposers/preload/service.h"

namespace attune::cublas {

// Thread-safe and constant-initialised. Creates a run time at the first product on its device.
// attune computes in a device's primary context, as CUDA's run time API does; programs with
// contexts of their own keep the real function.
class DeviceRuntimes {
 public:
  // kServed and the run time of the device that is current in this thread, or the reason for none.
  // `queue` is the stream of the product.
  interposer::Outcome Find(void* queue, attune_runtime*& runtime);

 private:
  struct Slot {
    CUcontext context = nullptr;        // Primary.
    attune_runtime* runtime = nullptr;  // Null if it could not be created.
  };
  static constexpr int kMaxDevices = 64;

  bool FindDriver();
  bool IsCaptured(void* queue) const;
  attune_runtime* Create(CUdevice device) const;
  interposer::Outcome Open(void* queue, CUcontext context, attune_runtime*& runtime);
  interposer::Outcome Answer(const Slot& slot, attune_runtime*& runtime) const;
  // True if `context` is the primary one of `device`.
  bool IsPrimary(CUcontext context, CUdevice device) const;

  pthread_mutex_t opening_ = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> has_driver_ = false;
  // Functions of libcuda.so.1, set before has_driver_.
  decltype(&::cuCtxGetCurrent) get_current_ = nullptr;
  decltype(&::cuCtxGetDevice) get_device_ = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain_ = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) release_ = nullptr;
  decltype(&::cuStreamIsCapturing) is_capturing_ = nullptr;
  decltype(&::cuThreadExchangeStreamCaptureMode) exchange_mode_ = nullptr;
  std::atomic<int> count_ = 0;
  Slot slots_[kMaxDevices];  // Per device, in the order of first use.
};

}  // namespace attune::cublas
