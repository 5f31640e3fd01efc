// The threads of all host code that does not bring its own: a fork-join pool. Its threads sleep
// while they wait, so that they never disturb the library that runs next.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "backends/host/threads/race_detector.h"

namespace attune::host {

// Thread-safe. A Run() during another Run(), on a second thread or inside a task, does all its
// parts on the calling thread. So does a Run() with the parts of threads that cannot be started.
// This is slower, but never wrong and never a deadlock. Every part uses the rounding mode and
// treatment of denormals of the thread that called Run().
class ThreadPool {
 public:
  // Threads are started when a Run() first needs them. REQUIRES: max_threads >= 1.
  explicit ThreadPool(int max_threads);
  // Waits for the threads to end. REQUIRES: no Run() is in progress.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int max_threads() const { return max_threads_; }

  // Calls task(0), ..., task(parts - 1), each once, and returns when all have returned. Part 0 runs
  // on the calling thread, and with parts <= max_threads() every other part on a thread of its own,
  // unless that has not begun when part 0 is done: waking a thread takes longer than many a part,
  // so the calling thread does it then. `task` must not throw.
  template <class Task>
  void Run(int parts, Task&& task) {
    using Stored = std::remove_reference_t<Task>;
    RunErased(
        parts, [](void* stored, int part) { (*static_cast<Stored*>(stored))(part); },
        const_cast<void*>(static_cast<const void*>(std::addressof(task))));
  }

  // Returns true if, since the last call, a Run() got fewer threads than it has parts. The system
  // refused them, so its time says nothing about `parts` threads.
  bool TakeShortage() { return was_short_.exchange(false, std::memory_order_relaxed); }

  // True if every thread of the pool has stopped polling for work since its last Run().
  bool IsAsleep();
  // Polls until IsAsleep(), some 65 000 ns after the last Run(), so that the next timing has the
  // cores for itself. REQUIRES: not called from inside a task.
  void AwaitSleep();

 private:
  using TaskFunction = void (*)(void* task, int part);
  struct Worker;

  void RunErased(int parts, TaskFunction function, void* task);
  // Starts missing workers if the limits of the process leave enough, and returns how many of
  // `count` run. REQUIRES: run_mutex_ is held.
  int StartWorkers(int count);
  void AddWorkers(int count);
  void Work(Worker& worker, int index);
  void RunPartsOf(int index);
  // Does the parts of missing workers beyond `others` and the parts that no worker has begun. Then
  // waits for the workers.
  void Join(int others);

  const int max_threads_;
  const RaceDetector race_detector_;
  // Held for the whole of a Run(); guards workers_, function_, task_, parts_ and float_control_.
  // Every worker in workers_ was started.
  std::mutex run_mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;
  TaskFunction function_ = nullptr;
  void* task_ = nullptr;
  int parts_ = 0;
  unsigned float_control_ = 0;
  // Workers that have not finished the current Run().
  std::atomic<uint32_t> unfinished_{0};
  // Where the last Run() was called; -1 before.
  std::atomic<int> giver_cpu_{-1};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> was_short_{false};
};

}  // namespace attune::host
