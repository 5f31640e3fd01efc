#include "backends/host/threads/thread_pool.h"

#include <sched.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>

#include "attune/base/guest_thread.h"
#include "attune/base/stack_room.h"

namespace attune::host {
namespace {

// How long a thread polls for work before it sleeps in the kernel. Long enough to bridge the gap
// between two launches of the same kernel, which waking a thread (some 10 000 ns, more in a virtual
// machine) would dominate; far shorter than the milliseconds that other runtimes poll for.
constexpr std::chrono::nanoseconds kPollTime{15'000};
// How long it then polls while no other thread wants its core: as long as it takes to find a solver
// for a new problem.
constexpr std::chrono::nanoseconds kYieldTime{45'000};
// How long the thread that gave work polls for its end. Longer, because nothing else of its program
// waits for its core, and in a virtual machine a core that fell asleep needs 60 000 ns to wake up.
constexpr std::chrono::nanoseconds kJoinPollTime{200'000};
constexpr int kPausesPerClockReading = 16;
// Several times the stack that a call takes.
constexpr size_t kStackBytes = 4 * kCallStackBytes;
constexpr std::chrono::nanoseconds kSettleTime{5'000};

// The bits of the control register for raised exceptions; the other bits control the computation.
constexpr unsigned kFloatExceptions = 0x3f;

void Pause() { __builtin_ia32_pause(); }

// Polls until `value` no longer is `old`; false if it still is after `time`.
bool PollForChange(const std::atomic<uint32_t>& value, uint32_t old,
                   std::chrono::nanoseconds time) {
  const auto deadline = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < kPausesPerClockReading; ++i) {
      if (value.load(std::memory_order_acquire) != old) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// The same for kPollTime, then for kYieldTime.
bool PollAndYieldForChange(const std::atomic<uint32_t>& value, uint32_t old) {
  if (PollForChange(value, old, kPollTime)) return true;
  const auto deadline = std::chrono::steady_clock::now() + kYieldTime;
  while (std::chrono::steady_clock::now() < deadline) {
    ::sched_yield();
    if (value.load(std::memory_order_acquire) != old) return true;
  }
  return false;
}

}  // namespace

// The alignment keeps the words that two threads poll out of one cache line.
struct alignas(64) ThreadPool::Worker {
  // True for one caller in each run: the worker itself or, if the worker is late, the thread that
  // gave the run. The worker's parts are then the caller's to do.
  bool Claim(uint32_t run) {
    uint32_t before = run - 1;
    return runs_claimed.compare_exchange_strong(before, run, std::memory_order_acq_rel);
  }

  std::atomic<uint32_t> runs_given{0};
  std::atomic<uint32_t> runs_claimed{0};
  // Where the worker last claimed a run; -1 before.
  std::atomic<int> cpu{-1};
  // Written by the worker alone: the last run that it knew of when it went to sleep; kAwake while
  // it works and while it polls. One that was given a run since then is about to wake up.
  static constexpr int64_t kAwake = -1;
  std::atomic<int64_t> asleep_since{kAwake};
  GuestThread thread;
};

ThreadPool::ThreadPool(int max_threads) : max_threads_(max_threads) { assert(max_threads >= 1); }

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_release);
  for (const auto& worker : workers_) {
    worker->runs_given.fetch_add(1, std::memory_order_release);
    worker->runs_given.notify_one();
  }
  for (const auto& worker : workers_) worker->thread.Join();
}

int ThreadPool::StartWorkers(int count) {
  if (static_cast<int>(workers_.size()) < count) AddWorkers(count);
  return std::min(count, static_cast<int>(workers_.size()));
}

void ThreadPool::AddWorkers(int count) try {
  was_short_.store(true, std::memory_order_relaxed);
  workers_.reserve(static_cast<size_t>(count));
  while (static_cast<int>(workers_.size()) < count) {
    if (!GuestThread::MayStart()) return;
    auto made = std::make_unique<Worker>();
    Worker& worker = *made;
    const int index = static_cast<int>(workers_.size()) + 1;
    const bool started =
        worker.thread.Start([this, &worker, index] { Work(worker, index); }, kStackBytes);
    if (!started) return;
    workers_.push_back(std::move(made));
  }
  was_short_.store(false, std::memory_order_relaxed);
} catch (const std::bad_alloc&) {
  // Continue without the missing threads.
}

void ThreadPool::Work(Worker& worker, int index) {
  uint32_t run = 0;
  bool was_in_time = true;
  while (true) {
    // On the core of the thread that gives the runs, polling keeps it from giving the next one. A
    // worker that came too late has no core of its own.
    const bool may_poll =
        was_in_time && ::sched_getcpu() != giver_cpu_.load(std::memory_order_relaxed);
    if (!may_poll || !PollAndYieldForChange(worker.runs_given, run)) {
      worker.asleep_since.store(run, std::memory_order_release);
      worker.runs_given.wait(run, std::memory_order_acquire);
      worker.asleep_since.store(Worker::kAwake, std::memory_order_release);
    }
    if (stopping_.load(std::memory_order_acquire)) return;
    run = worker.runs_given.load(std::memory_order_acquire);
    worker.cpu.store(::sched_getcpu(), std::memory_order_relaxed);
    was_in_time = worker.Claim(run);
    if (!was_in_time) continue;
    race_detector_.Acquire(this);
    ::_mm_setcsr(float_control_);
    RunPartsOf(index);
    race_detector_.Release(&unfinished_);
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  }
}

// Parts beyond the number of threads are dealt out round robin.
void ThreadPool::RunPartsOf(int index) {
  for (int part = index; part < parts_; part += max_threads_) function_(task_, part);
}

bool ThreadPool::IsAsleep() {
  const std::lock_guard<std::mutex> lock(run_mutex_);
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& worker) {
    return worker->asleep_since.load(std::memory_order_acquire) ==
           worker->runs_given.load(std::memory_order_relaxed);
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
  const int others = StartWorkers(std::min(parts, max_threads_) - 1);
  function_ = function;
  task_ = task;
  parts_ = parts;
  float_control_ = ::_mm_getcsr() & ~kFloatExceptions;
  race_detector_.Release(this);
  unfinished_.store(static_cast<uint32_t>(others), std::memory_order_relaxed);
  giver_cpu_.store(::sched_getcpu(), std::memory_order_relaxed);
  for (int i = 0; i < others; ++i) {
    workers_[i]->runs_given.fetch_add(1, std::memory_order_release);
    workers_[i]->runs_given.notify_one();
  }
  RunPartsOf(0);
  Join(others);
}

void ThreadPool::Join(int others) {
  for (int index = others + 1; index < std::min(parts_, max_threads_); ++index) RunPartsOf(index);
  const int cpu = ::sched_getcpu();
  bool may_poll = true;
  for (int i = 0; i < others; ++i) {
    Worker& worker = *workers_[i];
    if (worker.Claim(worker.runs_given.load(std::memory_order_relaxed))) {
      RunPartsOf(i + 1);
      unfinished_.fetch_sub(1, std::memory_order_relaxed);
    } else {
      may_poll = may_poll && worker.cpu.load(std::memory_order_relaxed) != cpu;
    }
  }
  for (uint32_t left = unfinished_.load(std::memory_order_acquire); left != 0;
       left = unfinished_.load(std::memory_order_acquire)) {
    if (!may_poll || !PollForChange(unfinished_, left, kJoinPollTime)) {
      unfinished_.wait(left, std::memory_order_acquire);
    }
  }
  race_detector_.Acquire(&unfinished_);
}

}  // namespace attune::host
