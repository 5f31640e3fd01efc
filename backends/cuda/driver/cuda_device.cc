#include "backends/cuda/driver/cuda_device.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "attune/base/signals_blocked.h"
#include "backends/cuda/driver/addresses.h"
#include "backends/cuda/driver/cuda_memory.h"
#include "backends/cuda/driver/sample.h"
#include "backends/cuda/kernel/dry_run.h"

namespace attune::cuda {
namespace {

constexpr size_t kLeastDisplacerBytes = size_t{64} << 20;

CUdeviceptr DriverAddressOf(BufferView view) {
  return reinterpret_cast<CUdeviceptr>(AddressOf(view));
}

class CudaBuffer final : public Buffer {
 public:
  CudaBuffer(const Driver& driver, CUcontext context, CUdeviceptr address, size_t size_bytes)
      : driver_(driver), context_(context), address_(address), size_bytes_(size_bytes) {}
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;
  ~CudaBuffer() override {
    const DuringCapture allowed(driver_);
    driver_.cuCtxSetCurrent(context_);
    driver_.cuMemFree(address_);
  }

  void* handle() const override { return reinterpret_cast<void*>(address_); }
  size_t size_bytes() const override { return size_bytes_; }

 private:
  const Driver& driver_;
  const CUcontext context_;
  const CUdeviceptr address_;
  const size_t size_bytes_;
};

// Called by a thread of the driver, in which driver calls are not allowed.
void CUDA_CB SetOver(void* held) {
  using Flag = std::shared_ptr<std::atomic<bool>>;
  const std::unique_ptr<Flag> over(static_cast<Flag*>(held));
  (*over)->store(true, std::memory_order_release);
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::Open(const Driver& driver, const DeviceEntry& entry,
                                                     const Lazy<Nvrtc>& nvrtc,
                                                     const Lazy<Nvml>& nvml) {
  if (!entry.reason.empty()) {
    return Unavailable(
        fmt::format("Cannot open {} ({}): {}", entry.spec, entry.target.device, entry.reason));
  }
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, entry, nvrtc, nvml));
  const SignalsBlocked signals;  // The driver starts threads.
  ATTUNE_RETURN_IF_ERROR(device->Check(
      driver.cuDevicePrimaryCtxRetain(&device->context_, entry.device), "Cannot create a context"));
  ATTUNE_RETURN_IF_ERROR(device->Enter());
  // The legacy default stream and this stream do not wait for each other.
  ATTUNE_RETURN_IF_ERROR(device->Check(
      driver.cuStreamCreate(&device->stream_, CU_STREAM_NON_BLOCKING), "Cannot create a stream"));
  return device;
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  driver_.cuCtxSetCurrent(context_);
  displacer_.reset();
  memory_.reset();
  capture_stream_.reset();
  if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  driver_.cuDevicePrimaryCtxRelease(entry_.device);
}

Status CudaDevice::Check(CUresult code, std::string_view what) const {
  if (code == CUDA_SUCCESS) return Status::Ok();
  return CudaStatus(driver_, code, fmt::format("{} on {}", what, entry_.spec));
}

Status CudaDevice::Enter() const {
  // Most threads have entered already, and the query is quicker than another entry.
  CUcontext current = nullptr;
  if (driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context_) return Status::Ok();
  return Check(driver_.cuCtxSetCurrent(context_), "Cannot enter the context");
}

Result<std::unique_ptr<Buffer>> CudaDevice::Allocate(size_t size_bytes) {
  ATTUNE_RETURN_IF_ERROR(Enter());
  const DuringCapture allowed(driver_);
  CUdeviceptr address = 0;
  // The driver has no empty allocations.
  const CUresult code = driver_.cuMemAlloc(&address, std::max<size_t>(size_bytes, 1));
  if (code != CUDA_SUCCESS) {
    return CudaStatus(driver_, code,
                      fmt::format("Cannot allocate {} bytes of {}", size_bytes, entry_.spec));
  }
  return std::unique_ptr<Buffer>(
      std::make_unique<CudaBuffer>(driver_, context_, address, size_bytes));
}

Status CudaDevice::Upload(std::span<const std::byte> from, BufferView to) {
  if (from.empty()) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(Enter());
  ATTUNE_RETURN_IF_ERROR(
      Check(driver_.cuMemcpyHtoDAsync(DriverAddressOf(to), from.data(), from.size(), stream_),
            "Cannot upload"));
  return Synchronize();
}

Status CudaDevice::Download(BufferView from, std::span<std::byte> to) {
  if (to.empty()) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(Enter());
  ATTUNE_RETURN_IF_ERROR(
      Check(driver_.cuMemcpyDtoHAsync(to.data(), DriverAddressOf(from), to.size(), stream_),
            "Cannot download"));
  return Synchronize();
}

Status CudaDevice::Synchronize() {
  ATTUNE_RETURN_IF_ERROR(Enter());
  return Check(driver_.cuStreamSynchronize(stream_), "Work did not complete");
}

template <class Ask>
Status CudaDevice::AskStream(CUstream stream, const Ask& ask, std::string_view what) const {
  const bool is_of_current = stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  if (is_of_current) ATTUNE_RETURN_IF_ERROR(Enter());
  CUresult code = ask();
  if (code == CUDA_ERROR_INVALID_CONTEXT) {
    ATTUNE_RETURN_IF_ERROR(Enter());
    code = ask();
  }
  return Check(code, what);
}

Result<uint64_t> CudaDevice::RecordingOf(void* queue) {
  const auto stream = static_cast<CUstream>(queue);
  // The legacy stream cannot be captured, and even a query is an error while another stream is
  // captured.
  if (stream == CU_STREAM_LEGACY) return 0;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const auto is_capturing = [&] { return driver_.cuStreamIsCapturing(stream, &status); };
  constexpr std::string_view kWhat = "Cannot tell whether a stream is captured";
  ATTUNE_RETURN_IF_ERROR(AskStream(stream, is_capturing, kWhat));
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return 0;
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) {
    return FailedPrecondition("The capture of this stream is void: nothing can be added to it.");
  }
  cuuint64_t recording = 0;
  ATTUNE_RETURN_IF_ERROR(Enter());
  ATTUNE_RETURN_IF_ERROR(Check(driver_.cuStreamGetCaptureInfo(stream, &status, &recording, nullptr,
                                                              nullptr, nullptr, nullptr),
                               kWhat));
  return recording;
}

Result<QueueState> CudaDevice::StateOf(void* queue) {
  ATTUNE_ASSIGN_OR_RETURN(const uint64_t recording, RecordingOf(queue));
  // A stream has no id during a capture; the id of the recording replaces it.
  if (recording != 0) return QueueState{0, recording};
  const auto stream = static_cast<CUstream>(queue);
  unsigned long long id = 0;
  const auto get_id = [&] { return driver_.cuStreamGetId(stream, &id); };
  ATTUNE_RETURN_IF_ERROR(AskStream(stream, get_id, "Cannot identify a stream"));
  return QueueState{id, 0};
}

Status CudaDevice::TellWhenOver(void* queue, std::shared_ptr<std::atomic<bool>> over) {
  if (driver_.cuUserObjectCreate == nullptr || driver_.cuUserObjectRelease == nullptr ||
      driver_.cuGraphRetainUserObject == nullptr) {
    return Unsupported("The driver has no user objects, which tell when a graph is gone.");
  }
  ATTUNE_RETURN_IF_ERROR(Enter());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  ATTUNE_RETURN_IF_ERROR(
      Check(driver_.cuStreamGetCaptureInfo(static_cast<CUstream>(queue), &status, nullptr, &graph,
                                           nullptr, nullptr, nullptr),
            "Cannot tell into which graph a stream is captured"));
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return FailedPrecondition("This stream is not captured, so there is no graph of it.");
  }
  auto held = std::make_unique<std::shared_ptr<std::atomic<bool>>>(std::move(over));
  CUuserObject object = nullptr;
  ATTUNE_RETURN_IF_ERROR(Check(driver_.cuUserObjectCreate(&object, held.get(), SetOver, 1,
                                                          CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
                               "Cannot create a user object"));
  (void)held.release();  // SetOver's.
  const CUresult retained =
      driver_.cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  if (retained != CUDA_SUCCESS) (void)driver_.cuUserObjectRelease(object, 1);
  return Check(retained, "Cannot give a user object to a graph");
}

Status CudaDevice::TryCapture(Executable& executable, const Arguments& arguments) {
  ATTUNE_RETURN_IF_ERROR(Enter());
  return cuda::TryCapture(driver_, StreamOf(arguments), [&] { return executable.Run(arguments); });
}

int64_t CudaDevice::multiprocessors() const {
  int count = 0;
  const CUresult told =
      driver_.cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, entry_.device);
  return told == CUDA_SUCCESS ? count : 0;
}

Result<std::vector<ObservedLaunch>> CudaDevice::DryRun(Executable& executable,
                                                       const Arguments& arguments) {
  ATTUNE_RETURN_IF_ERROR(Enter());
  return cuda::DryRun(driver_, StreamOf(arguments), [&] { return executable.Run(arguments); });
}

Result<std::vector<std::vector<double>>> CudaDevice::Count(
    Executable& executable, const Arguments& arguments, const std::vector<std::string>& counters) {
  ATTUNE_RETURN_IF_ERROR(Enter());
  if (counter_source_ == nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(counter_source_, MakeCounterSource(context_, entry_.device));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto launches, DryRun(executable, arguments));
  return counter_source_->Count(counters, std::max<size_t>(1, launches.size()), [&]() -> Status {
    ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
    return Synchronize();
  });
}

std::string CudaDevice::counter_warning() const {
  return counter_source_ == nullptr ? "" : counter_source_->warning();
}

MemoryOperations* CudaDevice::memory_operations() {
  if (!has_tried_memory_) {
    has_tried_memory_ = true;
    auto made = CudaMemory::Create(*this, nvrtc_.Get());
    if (made.ok()) memory_ = std::move(*made);
  }
  return memory_.get();
}

Status CudaDevice::EnsureDisplacer() {
  if (displacer_ != nullptr) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(displacer_,
                          Allocate(std::max(2 * entry_.l2_bytes, kLeastDisplacerBytes)));
  return Status::Ok();
}

Result<SamplePlan> CudaDevice::PlanOf(Executable& executable, const Arguments& arguments,
                                      const TimingRequest& request) {
  assert(request.launches >= 1);
  SamplePlan plan;
  plan.launches = request.launches;
  plan.launch = [&executable, &arguments] { return executable.Run(arguments); };
  if (request.cache == CacheState::kCold) {
    ATTUNE_RETURN_IF_ERROR(EnsureDisplacer());
    plan.displace = [this] {
      constexpr uint32_t kPattern = 0x5A5A5A5A;
      return Check(driver_.cuMemsetD32Async(DriverAddressOf(displacer_->View(0)), kPattern,
                                            displacer_->size_bytes() / sizeof kPattern, stream_),
                   "Cannot displace the caches");
    };
  }
  return plan;
}

Result<double> CudaDevice::TimeNs(Executable& executable, const Arguments& arguments,
                                  const TimingRequest& request) {
  ATTUNE_RETURN_IF_ERROR(Synchronize());
  ATTUNE_ASSIGN_OR_RETURN(const SamplePlan plan, PlanOf(executable, arguments, request));
  return TakeSampleNs(driver_, stream_, plan);
}

Result<std::unique_ptr<TimedBlock>> CudaDevice::MakeBlock(Executable& executable,
                                                          const Arguments& arguments,
                                                          const TimingRequest& request) {
  ATTUNE_RETURN_IF_ERROR(Synchronize());
  ATTUNE_ASSIGN_OR_RETURN(const SamplePlan plan, PlanOf(executable, arguments, request));
  return RecordSample(driver_, stream_, plan);
}

Status CudaDevice::AwaitQuiescence(int64_t) {
  // Times are the device's own, so host threads do not disturb them; its queue must be empty.
  return Synchronize();
}

std::optional<DeviceConditions> CudaDevice::Conditions() {
  // Why nothing is known is in the report of the library; a set is as valid without it.
  auto conditions = nvml_.Get().Read(entry_.pci_bus_id);
  return conditions.ok() ? std::optional(std::move(*conditions)) : std::nullopt;
}

namespace {

// The counter of the whole GPU, in millijoules. Borrows `nvml`.
class NvmlEnergyCounter final : public EnergyCounter {
 public:
  NvmlEnergyCounter(const Nvml& nvml, std::string pci_bus_id)
      : nvml_(nvml), pci_bus_id_(std::move(pci_bus_id)) {}

  Result<double> ReadJoules() override {
    ATTUNE_ASSIGN_OR_RETURN(const int64_t millijoules, nvml_.ReadMillijoules(pci_bus_id_));
    return static_cast<double>(millijoules) * 1e-3;
  }
  std::string name() const override { return fmt::format("NVML's of {}", pci_bus_id_); }

 private:
  const Nvml& nvml_;
  const std::string pci_bus_id_;
};

}  // namespace

Result<std::unique_ptr<EnergyCounter>> CudaDevice::OpenEnergyCounter() {
  auto counter = std::make_unique<NvmlEnergyCounter>(nvml_.Get(), entry_.pci_bus_id);
  ATTUNE_RETURN_IF_ERROR(counter->ReadJoules().status());
  return std::unique_ptr<EnergyCounter>(std::move(counter));
}

Result<CudaDevice*> CudaDeviceOf(Device& device) {
  auto* cuda = dynamic_cast<CudaDevice*>(&device);
  if (cuda == nullptr) return InvalidArgument("This device is not of the CUDA backend.");
  return cuda;
}

}  // namespace attune::cuda
