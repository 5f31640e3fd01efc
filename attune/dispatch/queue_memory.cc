#include "attune/dispatch/queue_memory.h"

#include <algorithm>

namespace attune {

Result<BufferView> QueueMemory::Workspace(const QueueState& queue, size_t size_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Buffers& buffers = workspaces_[{queue.id, queue.recording}];
  const size_t largest = buffers.empty() ? 0 : buffers.back()->size_bytes();
  if (largest < size_bytes) {
    const size_t wanted = std::max({size_bytes, 2 * largest, kLeastBytes});
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_.Allocate(wanted));
    buffers.push_back(std::move(buffer));
  }
  return buffers.back()->View(0);
}

void QueueMemory::Keep(std::shared_ptr<const Plan> plan) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_.insert(std::move(plan));
}

}  // namespace attune
