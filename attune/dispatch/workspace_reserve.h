// Workspaces for threads, the next larger one made ready before somebody needs it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/dispatch/work_queue.h"

namespace attune {

// The first touch of new memory takes longer than many a call that computes in it, so one spare
// buffer is made and touched in the background, ahead of the thread that grows out of its
// workspace next. Thread-safe.
class WorkspaceReserve {
 public:
  // A call with less does not notice the price.
  static constexpr size_t kNoticeableBytes = size_t{1} << 20;
  // Whoever needs so much is about to need more.
  static constexpr size_t kFirstSignBytes = size_t{64} << 10;
  // Sizes of spares, and what of them threads may hold at the same time.
  static constexpr size_t kSmallestSpareBytes = size_t{32} << 20;
  static constexpr size_t kLargestSpareBytes = size_t{64} << 20;
  static constexpr size_t kMostHandedOutBytes = 4 * kLargestSpareBytes;

  enum class Spares { kNone, kOne };

  // `device` is borrowed.
  WorkspaceReserve(Device& device, Spares spares) : device_(device), spares_(spares), queue_(1) {}
  ~WorkspaceReserve() { is_stopping_.store(true); }
  WorkspaceReserve(const WorkspaceReserve&) = delete;
  WorkspaceReserve& operator=(const WorkspaceReserve&) = delete;

  // A buffer of at least `needed_bytes` for a thread that has `current_bytes` and gives them up.
  Result<std::unique_ptr<Buffer>> Get(size_t needed_bytes, size_t current_bytes);

  // As WorkQueue's.
  bool WaitIdle(std::chrono::nanoseconds timeout) { return queue_.WaitIdle(timeout); }
  bool Stop(std::chrono::nanoseconds timeout) {
    is_stopping_.store(true);
    return queue_.Stop(timeout);
  }

 private:
  std::unique_ptr<Buffer> TakeSpare(size_t needed_bytes);
  // Makes a spare for a thread that needed `needed_bytes` and has `size_bytes` now, if it is about
  // to need more than it has.
  void PrepareBeyond(size_t needed_bytes, size_t size_bytes);
  void MakeSpare(size_t size_bytes);

  Device& device_;
  const Spares spares_;
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;  // Guards the next three.
  std::unique_ptr<Buffer> spare_;
  bool is_preparing_ = false;
  size_t handed_out_bytes_ = 0;  // Ever: what a thread gave up is not counted back.
  WorkQueue queue_;              // Last, so that its thread ends first.
};

}  // namespace attune
