// What launches on queues of the caller need longer than the call that enqueues them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/dispatch/plan.h"

namespace attune {

// A call returns before its launches are executed, and a graph that was captured of it may be
// replayed at any time, so nothing is given back before the end of the run time. Thread-safe.
class QueueMemory {
 public:
  // A wish for more doubles at least, so that all of what a queue has is at most twice as much as
  // its largest wish, and no less than this.
  static constexpr size_t kLeastBytes = size_t{1} << 20;

  // `device` is borrowed.
  explicit QueueMemory(Device& device) : device_(device) {}

  // At least `size_bytes` for what is enqueued next. The launches of a queue follow each other, so
  // they share it; those of a recording have memory of their own, because they are replayed beside
  // what the queue has later.
  Result<BufferView> Workspace(const QueueState& queue, size_t size_bytes);

  // For the graph that is being recorded of it.
  void Keep(std::shared_ptr<const Plan> plan);

 private:
  using Buffers = std::vector<std::unique_ptr<Buffer>>;  // Each larger than the one before.

  Device& device_;
  std::mutex mutex_;  // Guards everything below.
  // By queue and recording.
  std::map<std::pair<uint64_t, uint64_t>, Buffers> workspaces_;
  std::set<std::shared_ptr<const Plan>> kept_;
};

}  // namespace attune
