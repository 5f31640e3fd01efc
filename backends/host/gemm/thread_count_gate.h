// Lets calls into a library overlap whose number of threads is one setting for the whole process.
#pragma once

#include <condition_variable>
#include <mutex>

namespace attune::host {

// Calls that want the same number run at the same time; one that wants another waits until they are
// done. Thread-safe.
class ThreadCountGate {
 public:
  // `set` changes the library's setting; called with the gate closed to everyone else.
  using SetFunction = void (*)(int threads);
  explicit ThreadCountGate(SetFunction set) : set_(set) {}

  // While it lives, the library's setting is what it was asked for.
  class Pass {
   public:
    Pass(ThreadCountGate& gate, int threads) : gate_(gate) { gate_.Enter(threads); }
    ~Pass() { gate_.Leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    ThreadCountGate& gate_;
  };

 private:
  void Enter(int threads) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return inside_ == 0 || threads_ == threads; });
    if (threads_ != threads) {
      set_(threads);
      threads_ = threads;
    }
    ++inside_;
  }
  void Leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ == 0) changed_.notify_all();
  }

  const SetFunction set_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int threads_ = 0;  // 0 until set for the first time.
  int inside_ = 0;
};

}  // namespace attune::host
