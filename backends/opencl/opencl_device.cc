#include "backends/opencl/opencl_device.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include <fmt/format.h>

#include "attune/base/signals_blocked.h"
#include "attune/measure/powercap_counter.h"
#include "backends/host/quiescence.h"

namespace attune::opencl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLeastDisplacerBytes = size_t{32} << 20;
constexpr size_t kMostDisplacerBytes = size_t{256} << 20;

class OpenClBuffer final : public Buffer {
 public:
  OpenClBuffer(MemoryHandle memory, size_t size_bytes)
      : memory_(std::move(memory)), size_bytes_(size_bytes) {}

  void* handle() const override { return memory_.get(); }
  size_t size_bytes() const override { return size_bytes_; }
  BufferView View(size_t offset_bytes) const override { return {handle(), offset_bytes}; }

 private:
  MemoryHandle memory_;
  size_t size_bytes_;
};

double Nanoseconds(Clock::duration duration) {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

}  // namespace

Result<std::unique_ptr<OpenClDevice>> OpenClDevice::Open(const DeviceEntry& entry) {
  if (!entry.reason.empty()) {
    return Unavailable(
        fmt::format("Cannot open {} ({}): {}", entry.spec, entry.target.device, entry.reason));
  }
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(entry.platform), 0};
  cl_int code = CL_SUCCESS;
  // Drivers start threads here and with the first queue.
  const SignalsBlocked signals;
  ContextHandle context(clCreateContext(properties, 1, &entry.device, nullptr, nullptr, &code));
  ATTUNE_RETURN_IF_ERROR(ClStatus(code, fmt::format("Cannot create a context on {}", entry.spec)));
  QueueHandle queue(clCreateCommandQueue(context.get(), entry.device, 0, &code));
  ATTUNE_RETURN_IF_ERROR(ClStatus(code, fmt::format("Cannot create a queue on {}", entry.spec)));
  return std::unique_ptr<OpenClDevice>(
      new OpenClDevice(entry, std::move(context), std::move(queue)));
}

Result<std::unique_ptr<Buffer>> OpenClDevice::Allocate(size_t size_bytes) {
  cl_int code = CL_SUCCESS;
  // OpenCL does not allow empty buffers.
  MemoryHandle memory(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE,
                                     std::max<size_t>(size_bytes, 1), nullptr, &code));
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(code, fmt::format("Cannot allocate {} bytes on {}", size_bytes, entry_->spec)));
  return std::unique_ptr<Buffer>(std::make_unique<OpenClBuffer>(std::move(memory), size_bytes));
}

Result<QueueHandle> OpenClDevice::QueueTo(BufferView view) const {
  cl_context context = nullptr;
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(clGetMemObjectInfo(static_cast<cl_mem>(view.handle), CL_MEM_CONTEXT, sizeof context,
                                  &context, nullptr),
               "Cannot ask for the context of a buffer"));
  cl_int code = CL_SUCCESS;
  if (context == context_.get()) {
    ATTUNE_RETURN_IF_ERROR(ClStatus(clRetainCommandQueue(queue_.get()), "Cannot share a queue"));
    return QueueHandle(queue_.get());
  }
  QueueHandle queue(clCreateCommandQueue(context, entry_->device, 0, &code));
  ATTUNE_RETURN_IF_ERROR(ClStatus(
      code,
      fmt::format("Cannot create a queue on {} for a buffer of another context", entry_->spec)));
  // Earlier launches on that buffer went through the queue of this device.
  ATTUNE_RETURN_IF_ERROR(ClStatus(clFinish(queue_.get()), "Cannot finish a queue"));
  return queue;
}

Status OpenClDevice::Upload(std::span<const std::byte> from, BufferView to) {
  if (from.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const QueueHandle queue, QueueTo(to));
  return ClStatus(
      clEnqueueWriteBuffer(queue.get(), static_cast<cl_mem>(to.handle), CL_TRUE, to.offset_bytes,
                           from.size(), from.data(), 0, nullptr, nullptr),
      fmt::format("Cannot upload {} bytes to {}", from.size(), entry_->spec));
}

Status OpenClDevice::Download(BufferView from, std::span<std::byte> to) {
  if (to.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const QueueHandle queue, QueueTo(from));
  return ClStatus(clEnqueueReadBuffer(queue.get(), static_cast<cl_mem>(from.handle), CL_TRUE,
                                      from.offset_bytes, to.size(), to.data(), 0, nullptr, nullptr),
                  fmt::format("Cannot download {} bytes from {}", to.size(), entry_->spec));
}

Status OpenClDevice::Synchronize() {
  return ClStatus(clFinish(queue_.get()),
                  fmt::format("Cannot finish the queue of {}", entry_->spec));
}

Status OpenClDevice::DisplaceCaches() {
  if (displacer_ == nullptr) {
    const size_t size_bytes =
        std::clamp(2 * entry_->cache_bytes, kLeastDisplacerBytes, kMostDisplacerBytes);
    ATTUNE_ASSIGN_OR_RETURN(displacer_, Allocate(size_bytes));
  }
  ++displacer_pattern_;
  ATTUNE_RETURN_IF_ERROR(
      ClStatus(clEnqueueFillBuffer(queue_.get(), static_cast<cl_mem>(displacer_->handle()),
                                   &displacer_pattern_, sizeof displacer_pattern_, 0,
                                   displacer_->size_bytes(), 0, nullptr, nullptr),
               fmt::format("Cannot displace the caches of {}", entry_->spec)));
  return Synchronize();
}

Result<double> OpenClDevice::TimeNs(Executable& executable, const Arguments& arguments,
                                    const TimingRequest& request) {
  assert(request.launches >= 1);
  ATTUNE_RETURN_IF_ERROR(Synchronize());
  if (request.cache == CacheState::kWarm) {
    const auto begin = Clock::now();
    for (int i = 0; i < request.launches; ++i) ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
    ATTUNE_RETURN_IF_ERROR(Synchronize());
    return Nanoseconds(Clock::now() - begin) / request.launches;
  }
  double total_ns = 0;
  for (int i = 0; i < request.launches; ++i) {
    ATTUNE_RETURN_IF_ERROR(DisplaceCaches());
    const auto begin = Clock::now();
    ATTUNE_RETURN_IF_ERROR(executable.Run(arguments));
    ATTUNE_RETURN_IF_ERROR(Synchronize());
    total_ns += Nanoseconds(Clock::now() - begin);
  }
  return total_ns / request.launches;
}

Status OpenClDevice::AwaitQuiescence(int64_t limit_ns) {
  ATTUNE_RETURN_IF_ERROR(Synchronize());
  return host::AwaitQuietThreads(limit_ns);
}

Result<std::unique_ptr<EnergyCounter>> OpenClDevice::OpenEnergyCounter() {
  if (entry_->is_cpu) return OpenProcessorCounter();
  return Unsupported(
      "OpenCL does not tell what a GPU draws. Its CUDA device does, if it is one of NVIDIA's.");
}

}  // namespace attune::opencl
