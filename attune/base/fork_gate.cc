#include "attune/base/fork_gate.h"

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>

namespace attune {
namespace {

// Of the gates that live, those of this thread: it does not wait for itself.
thread_local int gates_of_this_thread = 0;

// The one place that all threads share with fork(). Never destroyed, because threads that nobody
// waits for may leave it at exit.
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

 private:
  Gatekeeper() {
    (void)::pthread_atfork([] { OfThisProcess().BeforeFork(); },
                           [] { OfThisProcess().mutex_.unlock(); },
                           [] { OfThisProcess().AfterForkInChild(); });
  }

  // Leaves the mutex locked, so that nobody enters before the fork is over.
  void BeforeFork() {
    std::unique_lock<std::mutex> lock(mutex_);
    (void)has_left_.wait_for(lock, ForkGate::kLongestWait,
                             [this] { return count_ == gates_of_this_thread; });
    (void)lock.release();
  }
  void AfterForkInChild() {
    count_ = gates_of_this_thread;
    // Constructs a new condition variable over the old one, which may refer to threads that the
    // child lacks.
    std::construct_at(&has_left_);
    mutex_.unlock();
  }

  std::mutex mutex_;  // Guards the rest.
  int count_ = 0;     // Of the gates that live.
  std::condition_variable has_left_;
};

}  // namespace

ForkGate::ForkGate() { Gatekeeper::OfThisProcess().Enter(); }
ForkGate::~ForkGate() { Gatekeeper::OfThisProcess().Leave(); }

}  // namespace attune
