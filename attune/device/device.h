// A machine that runs kernels: as little of it as measuring and verifying need.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/memory_operations.h"
#include "attune/problem/target.h"
#include "attune/trial/device_conditions.h"
#include "attune/trial/trial.h"

namespace attune {

// The non-owning twin of Buffer: `offset_bytes` into somebody's buffer. On backends whose handles
// are addresses the offset is already added and 0.
struct BufferView {
  void* handle = nullptr;
  size_t offset_bytes = 0;
};

// Memory that a device can compute on, owned. `handle()` is what solvers of that backend
// understand: a host pointer, a cl_mem, a CUDA device pointer.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* handle() const = 0;
  virtual size_t size_bytes() const = 0;

  // What a solver takes for the bytes from `offset_bytes` on. Backends whose handles are not
  // addresses (OpenCL) override this with {handle(), offset_bytes}.
  virtual BufferView View(size_t offset_bytes) const {
    return {static_cast<std::byte*>(handle()) + offset_bytes, 0};
  }
};

// What one launch computes on.
struct Arguments {
  std::span<const BufferView> operands;  // In the order of Operands(problem).
  BufferView workspace;                  // At least Executable::workspace_bytes() of it.
  double alpha = 1;
  double beta = 0;
  // Of the caller, to enqueue on (a CUstream); null: the device's own. See Device::StateOf.
  void* queue = nullptr;
};

// What a queue of the caller is at the moment.
struct QueueState {
  uint64_t id = 0;         // Of no other queue of this process, ever; 0 while it is captured.
  uint64_t recording = 0;  // The graph that it is being captured into; 0: launches are executed.
};

// A candidate made ready on a device for one problem. Not thread-safe unless it says so.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual size_t workspace_bytes() const = 0;
  // Whether several threads may Run() it at the same time, each with operands and a workspace of
  // its own.
  virtual bool is_concurrent() const { return false; }
  // Whether a graph that captured a launch of it needs it for as long as the graph is executed: for
  // its machine code, or for memory that it owns. Who says false, and is given no workspace of the
  // run time's, is launched without a question whether its queue is captured.
  virtual bool is_needed_by_graphs() const { return true; }
  // Enqueues one launch; the work is complete after Device::Synchronize.
  virtual Status Run(const Arguments& arguments) = 0;
  // What is launched in the end: itself, unless it only chooses what another one computes on.
  virtual Executable& launched() { return *this; }
};

// How to take one sample.
struct TimingRequest {
  int launches = 1;  // Launches between the two clock readings; at least 1.
  // A device is never asked for kRotating: whoever has the copies asks for kWarm with an executable
  // that steps through them.
  CacheState cache = CacheState::kWarm;
};

// One device, owned by one thread of one process at a time.
class Device {
 public:
  virtual ~Device() = default;

  virtual const Target& target() const = 0;

  // Whether operands of callers are handles of buffers, as OpenCL's are, whose bits do not tell
  // where their memory begins.
  virtual bool takes_handles() const { return false; }

  // True if the library of the device destroys objects at exit that every call needs:
  // SolverTraits::fails_at_exit for all solvers.
  virtual bool fails_at_exit() const { return false; }

  // Aligned to 64 bytes at least, content undefined.
  virtual Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) = 0;
  // As Allocate, but whoever writes to it first does not pay for that, where it would cost more
  // than later writes. For a background thread: nobody who computes beside it waits long for its
  // core, so it may take seconds. kUnavailable soon after `stop` is set.
  virtual Result<std::unique_ptr<Buffer>> AllocateTouched(size_t size_bytes,
                                                          const std::atomic<bool>& /*stop*/) {
    return Allocate(size_bytes);
  }
  virtual Status Upload(std::span<const std::byte> from, BufferView to) = 0;
  virtual Status Download(BufferView from, std::span<std::byte> to) = 0;
  virtual Status Synchronize() = 0;

  // Thread-safe. kUnsupported where launches go to the device's own queue only.
  virtual Result<QueueState> StateOf(void* /*queue*/) {
    return Unsupported("This device takes no queue of its caller: 'queue' has to be null.");
  }

  // Sets `over` once no graph of what `queue` is captured into now can be executed any more, from
  // any thread. kUnsupported where the device does not tell; `over` then says nothing.
  virtual Status TellWhenOver(void* /*queue*/, std::shared_ptr<std::atomic<bool>> /*over*/) {
    return Unsupported("This device does not tell when a graph is gone.");
  }

  // Whether a launch can become part of a graph of a queue that is captured: Ok, also where queues
  // cannot be captured at all, or why not. Nothing of it is executed or kept.
  virtual Status TryCapture(Executable& /*executable*/, const Arguments& /*arguments*/) {
    return Status::Ok();
  }

  // What the device does with its own memory; null where it has no such thing, or where the host
  // reads its memory as quickly. Lives as long as the device. May compile when first asked.
  virtual MemoryOperations* memory_operations() { return nullptr; }

  // Nanoseconds of one launch, averaged over request.launches, from idle to complete. Cold requests
  // displace the caches before every launch, outside of the timed span. This is the only clock that
  // candidates are judged by, so a fake device controls time.
  virtual Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                                const TimingRequest& request) = 0;

  // Waits until no other thread runtime of this process spins (OpenMP, OpenBLAS, PoCL worker
  // threads), at most `limit_ns`. kDeadlineExceeded names the thread that did not go to sleep.
  virtual Status AwaitQuiescence(int64_t limit_ns) = 0;

  // Clocks, power and temperature at this moment, read and never set; nothing if the device does
  // not tell, whatever the reason. Not beside a sample that is taken: the first question may load a
  // library, and each takes up to some milliseconds.
  virtual std::optional<DeviceConditions> Conditions() { return std::nullopt; }
};

}  // namespace attune
