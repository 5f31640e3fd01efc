#include "attune/dispatch/work_queue.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>
#include <utility>

namespace attune {
namespace {

// Behind the threads of the program. Not at the very end (SCHED_IDLE): where they keep every core
// busy for ever, this thread would stop in the middle of a lock that one of them wants.
constexpr int kNiceness = 10;

}  // namespace

WorkQueue::~WorkQueue() {
  (void)Stop(std::chrono::nanoseconds(0));
  thread_.Join();
}

bool WorkQueue::Stop(std::chrono::nanoseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  is_stopping_ = true;
  tasks_.clear();
  changed_.notify_all();
  if (!thread_.joinable()) return true;
  if (!changed_.wait_for(lock, timeout, [&] { return has_ended_; })) return false;
  // It takes the mutex no more, and nobody can start another one.
  thread_.Join();
  return true;
}

bool WorkQueue::Push(Task task) {
  bool is_expected = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || tasks_.size() >= limit_ || !StartThread()) return false;
    tasks_.push_back({std::move(task), now_ns_()});
    is_expected = is_expecting_;
  }
  // Waking the thread costs the caller some ten microseconds, and while it holds a task or does one
  // it looks for the next by itself.
  if (is_expected) changed_.notify_all();
  return true;
}

// REQUIRES: mutex_ is held.
bool WorkQueue::StartThread() {
  return thread_.joinable() || thread_.Start([this] { Work(); });
}

bool WorkQueue::WaitIdle(std::chrono::nanoseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  ++waiter_count_;
  changed_.notify_all();
  const bool is_idle =
      changed_.wait_for(lock, timeout, [&] { return tasks_.empty() && !is_busy_; });
  --waiter_count_;
  return is_idle;
}

bool WorkQueue::MayBegin(std::unique_lock<std::mutex>& lock) {
  if (hold_ == nullptr || waiter_count_ > 0) return true;
  const std::chrono::nanoseconds wait = hold_(tasks_.front().pushed_ns);
  if (wait.count() <= 0) return true;
  changed_.wait_for(lock, wait, [&] { return is_stopping_ || waiter_count_ > 0; });
  return false;
}

void WorkQueue::Work() {
  // A system that refuses leaves it as it is.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    is_expecting_ = true;
    changed_.wait(lock, [&] { return is_stopping_ || !tasks_.empty(); });
    is_expecting_ = false;
    if (is_stopping_) break;
    if (!MayBegin(lock)) continue;
    const Task task = std::move(tasks_.front().task);
    tasks_.pop_front();
    is_busy_ = true;
    lock.unlock();
    try {
      if (GuestThread::MayGoOn()) task();
    } catch (const std::exception&) {
      // Most likely out of memory. The next miss retries the task.
    }
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
  has_ended_ = true;
  changed_.notify_all();
}

}  // namespace attune
