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

// The non-owning twin of Buffer: `offset_bytes` into a buffer that it does not own. If the
// backend's handles are addresses, the offset is already added and 0.
struct BufferView {
  void* handle = nullptr;
  size_t offset_bytes = 0;
};

// Memory that a device can compute on, owned. `handle()` is a handle for solvers of that backend: a
// host pointer, a cl_mem, a CUDA device pointer.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual void* handle() const = 0;
  virtual size_t size_bytes() const = 0;

  // The view that solvers take for the bytes from `offset_bytes` on. Backends with handles that are
  // not addresses (OpenCL) override this with {handle(), offset_bytes}.
  virtual BufferView View(size_t offset_bytes) const {
    return {static_cast<std::byte*>(handle()) + offset_bytes, 0};
  }
};

// Operands of one launch.
struct Arguments {
  std::span<const BufferView> operands;  // In the order of Operands(problem).
  BufferView workspace;                  // At least Executable::workspace_bytes() of it.
  double alpha = 1;
  double beta = 0;
  // The caller's queue to enqueue on (a CUstream); null: the device's own. See Device::StateOf.
  void* queue = nullptr;
};

// Present state of a caller's queue.
struct QueueState {
  uint64_t id = 0;  // Unique among the queues of this process, for ever; 0 while it is captured.
  uint64_t recording = 0;  // The graph that it is being captured into; 0: launches are executed.
};

// A candidate made ready on a device for one problem. Not thread-safe unless it says so.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual size_t workspace_bytes() const = 0;
  // True if several threads may Run() it at the same time, each with its own operands and
  // workspace.
  virtual bool is_concurrent() const { return false; }
  // True if a graph that captured a launch of it needs it for as long as the graph is executed: for
  // its machine code, or for memory that it owns. If false, and if it gets no workspace of the run
  // time, it is launched without a query whether its queue is captured.
  virtual bool is_needed_by_graphs() const { return true; }
  // Enqueues one launch; the work is complete after Device::Synchronize.
  virtual Status Run(const Arguments& arguments) = 0;
  // The executable that is launched in the end: itself, unless it only chooses the operands of
  // another.
  virtual Executable& launched() { return *this; }
};

// How to take one sample.
struct TimingRequest {
  int launches = 1;  // Launches between the two clock readings; at least 1.
  // A device is never asked for kRotating: the owner of the copies asks for kWarm with an
  // executable that steps through them.
  CacheState cache = CacheState::kWarm;
};

// One device, owned by one thread of one process at a time.
class Device {
 public:
  virtual ~Device() = default;

  virtual const Target& target() const = 0;

  // True if callers pass operands as handles of buffers, as in OpenCL: their bits do not give the
  // address of the memory.
  virtual bool takes_handles() const { return false; }

  // True if the library of the device destroys objects at exit that every call needs:
  // SolverTraits::fails_at_exit for all solvers.
  virtual bool fails_at_exit() const { return false; }

  // Aligned to 64 bytes at least, content undefined.
  virtual Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) = 0;
  // As Allocate, but touched: the first write to it costs no more than later ones. For a background
  // thread: no thread that computes beside it waits long for its core, so it may take seconds.
  // kUnavailable soon after `stop` is set.
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

  // Sets `over` once no graph that `queue` is now captured into can be executed any more, from any
  // thread. kUnsupported if the device cannot tell; `over` then has no meaning.
  virtual Status TellWhenOver(void* /*queue*/, std::shared_ptr<std::atomic<bool>> /*over*/) {
    return Unsupported("This device does not tell when a graph is gone.");
  }

  // Tests if a launch can become part of a graph of a captured queue. Ok also if queues cannot be
  // captured at all; otherwise the reason. Executes and keeps nothing.
  virtual Status TryCapture(Executable& /*executable*/, const Arguments& /*arguments*/) {
    return Status::Ok();
  }

  // Operations of the device on its own memory; null if it has none, or if the host reads its
  // memory as quickly. Lives as long as the device. May compile when first asked.
  virtual MemoryOperations* memory_operations() { return nullptr; }

  // Nanoseconds of one launch, averaged over request.launches, from idle to complete. Cold requests
  // displace the caches before every launch, outside of the timed span. This is the only clock that
  // candidates are judged by, so a fake device controls time.
  virtual Result<double> TimeNs(Executable& executable, const Arguments& arguments,
                                const TimingRequest& request) = 0;

  // Waits until no other thread runtime of this process spins (OpenMP, OpenBLAS, PoCL worker
  // threads), at most `limit_ns`. kDeadlineExceeded names the thread that did not go to sleep.
  virtual Status AwaitQuiescence(int64_t limit_ns) = 0;

  // Clocks, power and temperature at this moment, read and never set; empty if the device does not
  // report them, for any reason. Do not call beside a sample: the first query may load a library,
  // and each takes up to some milliseconds.
  virtual std::optional<DeviceConditions> Conditions() { return std::nullopt; }
};

}  // namespace attune
