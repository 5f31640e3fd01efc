// One CUDA device, opened: its primary context and a stream.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "attune/base/fingerprint.h"
#include "attune/base/process_variables.h"
#include "attune/device/call_counter.h"
#include "attune/device/energy_counter.h"
#include "attune/device/launch_observer.h"
#include "attune/device/recording_queues.h"
#include "attune/device/repeating_device.h"
#include "backends/cuda/driver/capture_stream.h"
#include "backends/cuda/driver/counter_source.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/during_capture.h"
#include "backends/cuda/driver/inventory.h"
#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvml.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

class Module;
struct SamplePlan;

// Code loaded on a device, for as long as it has users.
struct LoadedModules {
  std::mutex mutex;  // Guards by_code.
  std::map<Fingerprint, std::weak_ptr<Module>> by_code;
};

// Handles of buffers are device addresses. The device uses the primary context, as do cuBLAS, cuDNN
// and the surrounding program.
//
// Time is the device's: the launches of a sample are captured into a graph, and events around its
// replay are compared, so that host time of launches is not measured. An executable that cannot be
// captured (it allocates or synchronises) is launched directly between the events, which then hold
// host time: TryCapture reports such executables.
class CudaDevice final : public RepeatingDevice,
                         public RecordingQueues,
                         public LaunchObserver,
                         public CallCounter,
                         public MeteredDevice {
 public:
  // Borrows all; they outlive the device.
  static Result<std::unique_ptr<CudaDevice>> Open(const Driver& driver, const DeviceEntry& entry,
                                                  const Lazy<Nvrtc>& nvrtc, const Lazy<Nvml>& nvml);
  ~CudaDevice() override;

  const Target& target() const override { return entry_.target; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override;
  Status Upload(std::span<const std::byte> from, BufferView to) override;
  Status Download(BufferView from, std::span<std::byte> to) override;
  Status Synchronize() override;
  // Neither enters the context where the driver needs none: a launch does that anyway.
  Result<QueueState> StateOf(void* queue) override;
  Result<uint64_t> RecordingOf(void* queue) override;
  // Uses a user object of the graph.
  Status TellWhenOver(void* queue, std::shared_ptr<std::atomic<bool>> over) override;
  Status TryCapture(Executable& executable, const Arguments& arguments) override;
  // 0 if the driver does not report it.
  int64_t multiprocessors() const override;
  Result<std::vector<ObservedLaunch>> DryRun(Executable& executable,
                                             const Arguments& arguments) override;
  // Uses CUPTI.
  Result<std::vector<std::vector<double>>> Count(Executable& executable, const Arguments& arguments,
                                                 const std::vector<std::string>& counters) override;
  std::string counter_warning() const override;
  // Null where there is no compiler for them.
  MemoryOperations* memory_operations() override;
  Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                        const TimingRequest& request) override;
  Result<std::unique_ptr<TimedBlock>> MakeBlock(Executable& executable, const Arguments& arguments,
                                                const TimingRequest& request) override;
  Status AwaitQuiescence(int64_t limit_ns) override;
  // Uses NVML.
  std::optional<DeviceConditions> Conditions() override;
  Result<std::unique_ptr<EnergyCounter>> OpenEnergyCounter() override;

  // Makes the context current in this thread: before anything that libraries do on this device.
  Status Enter() const;

  const Driver& driver() const { return driver_; }
  const DeviceEntry& entry() const { return entry_; }
  CUcontext context() const { return context_; }
  CUstream stream() const { return stream_; }
  LoadedModules& loaded_modules() { return loaded_modules_; }
  CaptureStream& capture_stream() { return *capture_stream_; }
  // True if launches on queues of the program may be replayed: unless ATTUNE_GRAPH_REPLAY was 0
  // when the device was opened.
  bool replays() const { return replays_; }
  // The stream of a launch: the caller's queue if the call names one.
  CUstream StreamOf(const Arguments& arguments) const {
    return arguments.queue == nullptr ? stream_ : static_cast<CUstream>(arguments.queue);
  }

 private:
  CudaDevice(const Driver& driver, const DeviceEntry& entry, const Lazy<Nvrtc>& nvrtc,
             const Lazy<Nvml>& nvml)
      : driver_(driver), entry_(entry), nvrtc_(nvrtc), nvml_(nvml) {}

  Status Check(CUresult code, std::string_view what) const;
  // Ok if `ask`, a driver call about `stream`, succeeds. Streams know their context, except for
  // those that every context has.
  template <class Ask>
  Status AskStream(CUstream stream, const Ask& ask, std::string_view what) const;
  Status EnsureDisplacer();
  // Borrows executable and arguments.
  Result<SamplePlan> PlanOf(Executable& executable, const Arguments& arguments,
                            const TimingRequest& request);

  const Driver& driver_;
  const DeviceEntry& entry_;
  const Lazy<Nvrtc>& nvrtc_;
  const Lazy<Nvml>& nvml_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::unique_ptr<CaptureStream> capture_stream_ = std::make_unique<CaptureStream>(driver_);
  const bool replays_ = VariableOr("ATTUNE_GRAPH_REPLAY", "1") != "0";
  LoadedModules loaded_modules_;
  std::unique_ptr<CounterSource> counter_source_;
  std::unique_ptr<Buffer> displacer_;  // Larger than the L2, for cold samples.
  bool has_tried_memory_ = false;
  std::unique_ptr<MemoryOperations> memory_;
};

// Casts `device`; kInvalidArgument if another backend opened it.
Result<CudaDevice*> CudaDeviceOf(Device& device);

}  // namespace attune::cuda
