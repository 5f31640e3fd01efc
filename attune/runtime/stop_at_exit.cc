#include "attune/runtime/stop_at_exit.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

namespace attune {

struct StopAtExit::Entry {
  std::function<void()> stop;
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

  void Add(const StopAtExit* owner, std::function<void()> stop, std::function<void()> end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[owner] = {std::move(stop), std::move(end), ::getpid()};
  }
  void Remove(const StopAtExit* owner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.erase(owner);
  }
  void NoteRenewal() { renewals_left_.fetch_add(1); }
  void StopAll() {
    const bool is_last = renewals_left_.fetch_sub(1) == 1;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [owner, entry] : entries_) {
      if (entry.maker != ::getpid()) continue;
      entry.stop();
      if (is_last && entry.end) entry.end();
    }
  }

 private:
  Registry() {
    // A child must not find the mutex locked by a thread that it does not have.
    (void)::pthread_atfork([] { OfThisProcess().mutex_.lock(); },
                           [] { OfThisProcess().mutex_.unlock(); },
                           [] { OfThisProcess().mutex_.unlock(); });
  }

  std::atomic<int> renewals_left_{0};  // Calls of StopAll that the exit has still to make.
  std::mutex mutex_;                   // Guards entries_.
  std::map<const StopAtExit*, Entry> entries_;
};

StopAtExit::StopAtExit(std::function<void()> stop, std::function<void()> end) {
  Registry::OfThisProcess().Add(this, std::move(stop), std::move(end));
  Renew();
}

StopAtExit::~StopAtExit() { Registry::OfThisProcess().Remove(this); }

void StopAtExit::StopAll() { Registry::OfThisProcess().StopAll(); }

void StopAtExit::Renew() {
  static std::atomic<int> renewals{0};
  // Of this library: unloading it calls what it has registered.
  if (renewals.fetch_add(1, std::memory_order_relaxed) >= kMostRenewals) return;
  if (std::atexit(StopAll) == 0) Registry::OfThisProcess().NoteRenewal();
}

}  // namespace attune
