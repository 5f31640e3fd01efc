#include "attune/dispatch/queue_memory.h"

#include <algorithm>
#include <utility>

namespace attune {

Result<BufferView> QueueMemory::Workspace(void* queue, const QueueState& state, size_t size_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Buffers& buffers =
      state.recording == 0 ? workspaces_[state.id] : recordings_[state.recording].workspaces[queue];
  const size_t largest = buffers.empty() ? 0 : buffers.back()->size_bytes();
  if (largest < size_bytes) {
    const size_t wanted = std::max({size_bytes, 2 * largest, kLeastBytes});
    ATTUNE_ASSIGN_OR_RETURN(auto buffer, device_.Allocate(wanted));
    buffers.push_back(std::move(buffer));
  }
  return buffers.back()->View(0);
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
