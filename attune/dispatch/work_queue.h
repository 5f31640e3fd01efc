// A thread that does one thing after the other, started when there is a first one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace attune {

// Thread-safe. Tasks must not throw and must not destroy the queue.
class WorkQueue {
 public:
  using Task = std::function<void()>;

  // Holds at most `limit` tasks that were not begun.
  explicit WorkQueue(size_t limit) : limit_(limit) {}
  // Finishes the task in progress and drops the others.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False if the queue is full or stopping, or if there can be no thread; then nothing happens.
  bool Push(Task task);
  // Whether nothing is queued or running within `timeout`.
  bool WaitIdle(std::chrono::nanoseconds timeout);

 private:
  bool StartThread();
  void Work();

  const size_t limit_;
  std::mutex mutex_;  // Guards everything below.
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool is_busy_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace attune
