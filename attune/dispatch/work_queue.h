// A thread that does one thing after the other when its program is calm, started when there is a
// first one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "attune/base/guest_thread.h"
#include "attune/base/steady_time.h"

namespace attune {

// Thread-safe. Tasks must not throw and must not destroy the queue.
class WorkQueue {
 public:
  using Task = std::function<void()>;

  // What is asked before each task: for how long it should wait, having been pushed at `pushed_ns`
  // of the clock. Called with a lock held; quick.
  using Hold = std::function<std::chrono::nanoseconds(int64_t pushed_ns)>;

  // Holds at most `limit` tasks that were not begun. `hold` may be null: nothing waits. `now_ns`
  // says when a task is pushed.
  explicit WorkQueue(size_t limit, Hold hold = nullptr,
                     std::function<int64_t()> now_ns = SteadyNowNs)
      : limit_(limit), hold_(std::move(hold)), now_ns_(std::move(now_ns)) {}
  // Finishes the task in progress and drops the others, however long that takes.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False if the queue is full or stopping, or if there can be no thread; then nothing happens.
  bool Push(Task task);
  // Whether nothing is queued or running within `timeout`. While somebody waits, no task does.
  bool WaitIdle(std::chrono::nanoseconds timeout);
  // Drops what was not begun and takes nothing any more. Whether the task in progress and the
  // thread ended within `timeout`; if not, both go on.
  bool Stop(std::chrono::nanoseconds timeout);

 private:
  bool StartThread();
  void Work();
  // Whether the first task may begin; if not, after a wait it is worth asking again.
  bool MayBegin(std::unique_lock<std::mutex>& lock);

  struct Queued {
    Task task;
    int64_t pushed_ns = 0;
  };

  const size_t limit_;
  const Hold hold_;
  const std::function<int64_t()> now_ns_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::deque<Queued> tasks_;
  int waiter_count_ = 0;       // In WaitIdle.
  bool is_expecting_ = false;  // The thread sleeps until there is a task.
  bool is_busy_ = false;
  bool is_stopping_ = false;
  bool has_ended_ = false;  // The thread has nothing left to do but to return.
  GuestThread thread_;
};

}  // namespace attune
