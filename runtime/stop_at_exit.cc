#include "runtime/stop_at_exit.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "attune/base/exit_gate.h"

namespace attune {

struct StopAtExit::Entry {
  Stop stop;
  std::function<void()> end;  // Null for none.
  pid_t maker = 0;
};

// The one thing of the run time that is global: nobody hands anything down to the end of a process.
class StopAtExit::Registry {
 public:
  // Never destroyed, because it is used while static objects are.
  static Registry& OfThisProcess() {
    static Registry& registry = *new Registry;
    return registry;
  }

  void Add(const StopAtExit* owner, StopAtExit::Stop stop, std::function<void()> end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[owner] = {std::move(stop), std::move(end), ::getpid()};
  }
  void Remove(const StopAtExit* owner) {
    std::unique_lock<std::mutex> lock(mutex_);
    has_stopped_.wait(lock, [&] { return stopping_ != owner; });
    entries_.erase(owner);
  }
  void NoteRenewal() { renewals_left_.fetch_add(1); }
  void StopAll() {
    const bool is_last = renewals_left_.fetch_sub(1) == 1;
    ExitGate::Close();
    std::unique_lock<std::mutex> lock(mutex_);
    for (auto next = entries_.begin(); next != entries_.end();) {
      const StopAtExit* const owner = next->first;
      if (next->second.maker == ::getpid()) Stop(owner, is_last, lock);
      next = entries_.upper_bound(owner);
    }
    lock.unlock();
    (void)ExitGate::AwaitOthers(ExitGate::Left());
  }

 private:
  Registry() {
    // A child must not find the mutex locked by a thread that it does not have.
    (void)::pthread_atfork([] { OfThisProcess().mutex_.lock(); },
                           [] { OfThisProcess().mutex_.unlock(); },
                           [] { OfThisProcess().AfterForkInChild(); });
  }

  // Without the lock meanwhile; what is stopped is not destroyed before.
  void Stop(const StopAtExit* owner, bool is_last, std::unique_lock<std::mutex>& lock) {
    has_stopped_.wait(lock, [this] { return stopping_ == nullptr; });
    const auto found = entries_.find(owner);
    if (found == entries_.end()) return;
    const Entry entry = found->second;
    stopping_ = owner;
    lock.unlock();
    try {
      entry.stop(ExitGate::Left());
      if (is_last && entry.end) entry.end();
    } catch (const std::exception&) {
      // Most likely out of memory. The exit continues.
    }
    lock.lock();
    stopping_ = nullptr;
    has_stopped_.notify_all();
  }

  void AfterForkInChild() {
    stopping_ = nullptr;
    // Constructs a new condition variable over the old one, which may refer to threads that the
    // child lacks.
    std::construct_at(&has_stopped_);
    mutex_.unlock();
  }

  std::atomic<int> renewals_left_{0};  // Calls of StopAll that the exit has still to make.
  std::mutex mutex_;                   // Guards the rest. Never held for long: fork() takes it.
  std::map<const StopAtExit*, Entry> entries_;
  const StopAtExit* stopping_ = nullptr;  // Whose `stop` is in progress.
  std::condition_variable has_stopped_;
};

StopAtExit::StopAtExit(Stop stop, std::function<void()> end) {
  Registry::OfThisProcess().Add(this, std::move(stop), std::move(end));
  Renew();
}

StopAtExit::~StopAtExit() { Registry::OfThisProcess().Remove(this); }

void StopAtExit::StopAll() { Registry::OfThisProcess().StopAll(); }

void StopAtExit::Renew() {
  ExitGate::Guard();
  static std::atomic<int> renewals{0};
  // Of this library: unloading it calls what it has registered.
  if (renewals.fetch_add(1, std::memory_order_relaxed) >= kMostRenewals) return;
  if (std::atexit(StopAll) == 0) Registry::OfThisProcess().NoteRenewal();
}

}  // namespace attune
