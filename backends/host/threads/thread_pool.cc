#include "backends/host/threads/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace attune::host {
namespace {

// How long a waiting thread polls before it sleeps in the kernel. Long enough to bridge the gap
// between two launches of the same kernel, which waking a thread (some 10 000 ns, more in a virtual
// machine) would dominate; far shorter than the milliseconds that other runtimes poll for.
constexpr std::chrono::nanoseconds kPollTime{15'000};
constexpr int kPausesPerClockReading = 16;
constexpr std::chrono::nanoseconds kSettleTime{5'000};

void Pause() { __builtin_ia32_pause(); }

// Polls until `value` no longer is `old`; false if it still is after kPollTime.
bool PollForChange(const std::atomic<uint32_t>& value, uint32_t old) {
  const auto deadline = std::chrono::steady_clock::now() + kPollTime;
  do {
    for (int i = 0; i < kPausesPerClockReading; ++i) {
      if (value.load(std::memory_order_acquire) != old) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// Returns once `value` no longer is `old`.
void AwaitChange(const std::atomic<uint32_t>& value, uint32_t old) {
  if (!PollForChange(value, old)) value.wait(old, std::memory_order_acquire);
}

}  // namespace

// The alignment keeps the words that two threads poll out of one cache line.
struct alignas(64) ThreadPool::Worker {
  std::atomic<uint32_t> runs_given{0};
  // Written by the worker alone; false while it works and while it polls.
  std::atomic<bool> is_asleep{false};
  std::thread thread;
};

ThreadPool::ThreadPool(int max_threads) : max_threads_(max_threads) { assert(max_threads >= 1); }

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_release);
  for (const auto& worker : workers_) {
    worker->runs_given.fetch_add(1, std::memory_order_release);
    worker->runs_given.notify_one();
  }
  for (const auto& worker : workers_) worker->thread.join();
}

void ThreadPool::StartWorkers(int count) {
  while (static_cast<int>(workers_.size()) < count) {
    workers_.push_back(std::make_unique<Worker>());
    Worker& worker = *workers_.back();
    const int index = static_cast<int>(workers_.size());
    worker.thread = std::thread([this, &worker, index] { Work(worker, index); });
  }
}

void ThreadPool::Work(Worker& worker, int index) {
  for (uint32_t runs_done = 0;; ++runs_done) {
    if (!PollForChange(worker.runs_given, runs_done)) {
      worker.is_asleep.store(true, std::memory_order_release);
      worker.runs_given.wait(runs_done, std::memory_order_acquire);
      // Before the run is finished, so that whoever gave it never sees the state from before it.
      worker.is_asleep.store(false, std::memory_order_release);
    }
    if (stopping_.load(std::memory_order_acquire)) return;
    // Parts beyond the number of threads are dealt out round robin.
    for (int part = index; part < parts_; part += max_threads_) function_(task_, part);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

bool ThreadPool::IsAsleep() {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker->is_asleep.load(std::memory_order_acquire);
  });
}

void ThreadPool::AwaitSleep() {
  while (!IsAsleep()) Pause();
  // From the flag to the kernel a thread has some more instructions to go.
  const auto settled = std::chrono::steady_clock::now() + kSettleTime;
  while (std::chrono::steady_clock::now() < settled) Pause();
}

void ThreadPool::RunErased(int parts, TaskFunction function, void* task) {
  std::unique_lock<std::mutex> lock(run_mutex_, std::defer_lock);
  if (parts <= 1 || max_threads_ == 1 || !lock.try_lock()) {
    for (int part = 0; part < parts; ++part) function(task, part);
    return;
  }
  const int others = std::min(parts, max_threads_) - 1;
  StartWorkers(others);
  function_ = function;
  task_ = task;
  parts_ = parts;
  unfinished_.store(static_cast<uint32_t>(others), std::memory_order_relaxed);
  for (int i = 0; i < others; ++i) {
    workers_[i]->runs_given.fetch_add(1, std::memory_order_release);
    workers_[i]->runs_given.notify_one();
  }
  for (int part = 0; part < parts; part += max_threads_) function(task, part);
  for (uint32_t left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    AwaitChange(unfinished_, left);
  }
}

}  // namespace attune::host
