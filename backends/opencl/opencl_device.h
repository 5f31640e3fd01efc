// One OpenCL device, opened: a context and an in-order queue.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "attune/device/caller_handles.h"
#include "attune/device/device.h"
#include "attune/device/energy_counter.h"
#include "backends/opencl/buffer_check.h"
#include "backends/opencl/cl_handles.h"
#include "backends/opencl/inventory.h"

namespace attune::opencl {

// Handles of buffers are cl_mem, so views carry their offset.
//
// Time is wall-clock time from an idle queue to clFinish, over all launches of a sample: the wait
// of a caller, and the same on every platform. Events would time the kernels alone, and PoCL stamps
// them in worker threads. The fixed cost of a clFinish (some 10 microseconds) shrinks with the
// number of launches, which the caller chooses; a cold sample pays it for every launch.
class OpenClDevice final : public Device, public MeteredDevice, public CallerHandles {
 public:
  // Borrows `entry`, which the Inventory keeps.
  static Result<std::unique_ptr<OpenClDevice>> Open(const DeviceEntry& entry);

  const Target& target() const override { return entry_->target; }
  bool takes_handles() const override { return true; }
  bool fails_at_exit() const override { return true; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override;
  Status Upload(std::span<const std::byte> from, BufferView to) override;
  Status Download(BufferView from, std::span<std::byte> to) override;
  Status Synchronize() override;
  Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                        const TimingRequest& request) override;
  Status AwaitQuiescence(int64_t limit_ns) override;
  Status CheckHandle(const void* handle, const BufferUse& use) const override {
    return buffer_check_.Check(handle, use);
  }
  // For a processor, the counter of its packages; OpenCL itself reports no energy of any device.
  Result<std::unique_ptr<EnergyCounter>> OpenEnergyCounter() override;

  const DeviceEntry& entry() const { return *entry_; }
  cl_context context() const { return context_.get(); }
  cl_command_queue queue() const { return queue_.get(); }

 private:
  OpenClDevice(const DeviceEntry& entry, ContextHandle context, QueueHandle queue)
      : entry_(&entry),
        context_(std::move(context)),
        queue_(std::move(queue)),
        buffer_check_(entry, context_.get(), queue_.get()) {}

  // The queue that can reach a buffer: that of this device, or one of the buffer's own context,
  // which is a program's.
  Result<QueueHandle> QueueTo(BufferView view) const;
  // Writes a buffer larger than the last-level cache, and waits.
  Status DisplaceCaches();

  const DeviceEntry* entry_;
  ContextHandle context_;
  QueueHandle queue_;  // Declared after the context, so released before it.
  BufferCheck buffer_check_;
  std::unique_ptr<Buffer> displacer_;
  uint32_t displacer_pattern_ = 0;
};

}  // namespace attune::opencl
