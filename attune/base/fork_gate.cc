#include "attune/base/fork_gate.h"

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace attune {
namespace {

// The live gates of this thread: it does not wait for itself.
thread_local int gates_of_this_thread = 0;

}  // namespace

// The one place that all threads share with fork(). Never destroyed, because threads that no code
// joins may leave it at exit.
class Gatekeeper {
 public:
  static Gatekeeper& OfThisProcess() {
    static Gatekeeper& keeper = *new Gatekeeper;
    return keeper;
  }

  void Enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
    ++gates_of_this_thread;
  }
  void Leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --count_;
    --gates_of_this_thread;
    has_left_.notify_all();
  }
  bool AwaitOthers(std::chrono::nanoseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    return has_left_.wait_for(lock, timeout, [this] { return count_ == gates_of_this_thread; });
  }
  void Add(ForkWatcher* watcher) {
    // Without the mutex, which a fork() holds while the C library may hold a lock on its handlers.
    Register();
    const std::lock_guard<std::mutex> lock(mutex_);
    watchers_.push_back(watcher);
  }
  void Remove(ForkWatcher* watcher) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(watchers_, watcher);
  }

 private:
  Gatekeeper() { Register(); }

  // The latest handlers are called first before a fork() and last after it. The handlers between
  // them and earlier ones of this class find everything done.
  static void Register() {
    (void)::pthread_atfork(
        [] {
          if (handlers_in_fork++ == 0) OfThisProcess().BeforeFork();
        },
        [] {
          if (--handlers_in_fork == 0) OfThisProcess().AfterFork(false);
        },
        [] {
          if (--handlers_in_fork == 0) OfThisProcess().AfterFork(true);
        });
  }

  // Leaves the mutex locked, so that no thread enters before the fork is over.
  void BeforeFork() {
    std::unique_lock<std::mutex> lock(mutex_);
    (void)has_left_.wait_for(lock, ForkGate::kLongestWait,
                             [this] { return count_ == gates_of_this_thread; });
    for (ForkWatcher* watcher : watchers_) watcher->before_();
    (void)lock.release();
  }
  void AfterFork(bool is_child) {
    for (ForkWatcher* watcher : watchers_) watcher->after_(is_child);
    if (is_child) {
      count_ = gates_of_this_thread;
      // Constructs a new condition variable over the old one, which may refer to threads that the
      // child lacks.
      std::construct_at(&has_left_);
    }
    mutex_.unlock();
  }

  static inline constinit thread_local int handlers_in_fork = 0;

  std::mutex mutex_;  // Guards the rest.
  int count_ = 0;     // Live gates.
  std::condition_variable has_left_;
  std::vector<ForkWatcher*> watchers_;
};

ForkGate::ForkGate() { Gatekeeper::OfThisProcess().Enter(); }
ForkGate::~ForkGate() { Gatekeeper::OfThisProcess().Leave(); }
bool ForkGate::AwaitOthers(std::chrono::nanoseconds timeout) {
  return Gatekeeper::OfThisProcess().AwaitOthers(timeout);
}

ForkWatcher::ForkWatcher(Before before, After after)
    : before_(std::move(before)), after_(std::move(after)) {
  Gatekeeper::OfThisProcess().Add(this);
}
ForkWatcher::~ForkWatcher() { Gatekeeper::OfThisProcess().Remove(this); }

}  // namespace attune
