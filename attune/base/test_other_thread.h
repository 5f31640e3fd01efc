// For tests: an object that lives in another thread.
#pragma once

#include <latch>
#include <thread>

namespace attune {

// A `Scope`, such as a ForkGate, that another thread holds until End().
template <class Scope>
class HeldByAnotherThread {
 public:
  HeldByAnotherThread() { is_held_.wait(); }
  ~HeldByAnotherThread() { End(); }
  HeldByAnotherThread(const HeldByAnotherThread&) = delete;
  HeldByAnotherThread& operator=(const HeldByAnotherThread&) = delete;

  void End() {
    if (!thread_.joinable()) return;
    may_end_.count_down();
    thread_.join();
  }

 private:
  std::latch is_held_{1};
  std::latch may_end_{1};
  std::thread thread_{[this] {
    const Scope scope;
    is_held_.count_down();
    may_end_.wait();
  }};
};

}  // namespace attune
