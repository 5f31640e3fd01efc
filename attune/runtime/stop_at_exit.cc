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

  void Add(const StopAtExit* owner, std::function<void()> stop) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_[owner] = {std::move(stop), ::getpid()};
  }
  void Remove(const StopAtExit* owner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.erase(owner);
  }
  void StopAll() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [owner, entry] : entries_) {
      if (entry.maker == ::getpid()) entry.stop();
    }
  }

 private:
  Registry() {
    // A child must not find the mutex locked by a thread that it does not have.
    (void)::pthread_atfork([] { OfThisProcess().mutex_.lock(); },
                           [] { OfThisProcess().mutex_.unlock(); },
                           [] { OfThisProcess().mutex_.unlock(); });
  }

  std::mutex mutex_;  // Guards entries_.
  std::map<const StopAtExit*, Entry> entries_;
};

StopAtExit::StopAtExit(std::function<void()> stop) {
  Registry::OfThisProcess().Add(this, std::move(stop));
  Renew();
}

StopAtExit::~StopAtExit() { Registry::OfThisProcess().Remove(this); }

void StopAtExit::StopAll() { Registry::OfThisProcess().StopAll(); }

void StopAtExit::Renew() {
  static std::atomic<int> renewals{0};
  // Of this library: unloading it calls what it has registered.
  if (renewals.fetch_add(1, std::memory_order_relaxed) < kMostRenewals) std::atexit(StopAll);
}

}  // namespace attune
