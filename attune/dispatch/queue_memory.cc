#include "attune/dispatch/queue_memory.h"

#include <algorithm>
#include <utility>

namespace attune {

Result<BufferView> QueueMemory::Workspace(void* queue, const QueueState& state, size_t size_bytes) {
  std::atomic<const Memory*>& latest = latest_[state.id % kLatest];
  if (state.recording == 0) {
    const Memory* memory = latest.load(std::memory_order_acquire);
    const bool is_its = memory != nullptr && memory->queue_id == state.id;
    if (is_its && memory->size_bytes >= size_bytes) return memory->view;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state.recording != 0) {
    Buffers& buffers = recordings_[state.recording].workspaces[queue];
    ATTUNE_ASSIGN_OR_RETURN(const Memory* memory, Grown(buffers, 0, size_bytes));
    return memory->view;
  }
  ATTUNE_ASSIGN_OR_RETURN(const Memory* memory, Grown(workspaces_[state.id], state.id, size_bytes));
  latest.store(memory, std::memory_order_release);
  return memory->view;
}

Result<const QueueMemory::Memory*> QueueMemory::Grown(Buffers& buffers, uint64_t queue_id,
                                                      size_t size_bytes) {
  const size_t largest = buffers.empty() ? 0 : buffers.back()->size_bytes;
  if (largest < size_bytes) {
    const size_t wanted = std::max({size_bytes, 2 * largest, kLeastBytes});
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_.Allocate(wanted));
    const BufferView view = buffer->View(0);
    buffers.push_back(
        std::make_unique<const Memory>(Memory{queue_id, std::move(buffer), wanted, view}));
  }
  return buffers.back().get();
}

void QueueMemory::Keep(void* queue, const QueueState& state, std::shared_ptr<const Plan> plan) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(recordings_, [](const auto& each) {
    const Recording& recording = each.second;
    return recording.is_over != nullptr && recording.is_over->load(std::memory_order_acquire);
  });
  const auto [found, is_new] = recordings_.try_emplace(state.recording);
  Recording& recording = found->second;
  if (is_new) {
    auto over = std::make_shared<std::atomic<bool>>(false);
    if (device_.TellWhenOver(queue, over).ok()) recording.is_over = std::move(over);
  }
  recording.plans.insert(std::move(plan));
}

}  // namespace attune
