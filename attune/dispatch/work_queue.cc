#include "attune/dispatch/work_queue.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace attune {

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool WorkQueue::Push(Task task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_ || tasks_.size() >= limit_ || !StartThread()) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
  return true;
}

// REQUIRES: mutex_ is held.
bool WorkQueue::StartThread() {
  if (thread_.joinable()) return true;
  // Signals of the program are for its own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { Work(); });
  } catch (const std::system_error&) {
    // A limit on processes or memory: the caller does without.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

bool WorkQueue::WaitIdle(std::chrono::nanoseconds timeout) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return tasks_.empty() && !is_busy_; });
}

void WorkQueue::Work() {
  // Threads of the program that wake up take the core at once. Without it, one that computes on
  // every core waits milliseconds for the share of a call that stands behind this thread. A system
  // that refuses leaves it as it is.
  const sched_param none{};
  (void)::pthread_setschedparam(::pthread_self(), SCHED_IDLE, &none);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_stopping_ || !tasks_.empty(); });
    if (is_stopping_) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    is_busy_ = true;
    lock.unlock();
    task();
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace attune
