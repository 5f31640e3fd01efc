// What launches on queues of the caller need longer than the call that enqueues them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/dispatch/plan.h"

namespace attune {

// A call returns before its launches are executed, so what a queue has is not given back before the
// end of the run time. A graph that was captured of it may be replayed at any time: what it uses is
// given back at a later capture, where the device tells that the graph is gone, else at the end,
// too. Thread-safe.
class QueueMemory {
 public:
  // A wish for more doubles at least, so that all of what a queue has is at most twice as much as
  // its largest wish, and no less than this.
  static constexpr size_t kLeastBytes = size_t{1} << 20;

  // `device` is borrowed.
  explicit QueueMemory(Device& device) : device_(device) {}

  // At least `size_bytes` for what is enqueued on `queue` next, which is in `state`. The launches
  // of a queue follow each other, so they share it; those of a recording have memory of their own,
  // because they are replayed beside what the queue has later. Without a lock where the queue has
  // had as much, and is one of those that were used last.
  Result<BufferView> Workspace(void* queue, const QueueState& state, size_t size_bytes);

  // For the graph that `queue` records. Gives back what graphs used that are gone.
  void Keep(void* queue, const QueueState& state, std::shared_ptr<const Plan> plan);

 private:
  struct Memory {
    uint64_t queue_id = 0;
    std::unique_ptr<Buffer> buffer;
    size_t size_bytes = 0;
    BufferView view;
  };
  // Each larger than the one before.
  using Buffers = std::vector<std::unique_ptr<const Memory>>;
  static constexpr size_t kLatest = 16;

  // What a graph uses.
  struct Recording {
    // By queue: several may be captured into one graph, and their launches meet in it.
    std::map<void*, Buffers> workspaces;
    std::set<std::shared_ptr<const Plan>> plans;
    // Shared with the driver, which may outlive this object. Null: nobody tells.
    std::shared_ptr<std::atomic<bool>> is_over;
  };

  // Under mutex_.
  Result<const Memory*> Grown(Buffers& buffers, uint64_t queue_id, size_t size_bytes);

  Device& device_;
  // The largest of each queue, by the id's remainder. What is in workspaces_ stays.
  std::array<std::atomic<const Memory*>, kLatest> latest_{};
  std::mutex mutex_;                        // Guards everything below.
  std::map<uint64_t, Buffers> workspaces_;  // By queue.
  std::map<uint64_t, Recording> recordings_;
};

}  // namespace attune
