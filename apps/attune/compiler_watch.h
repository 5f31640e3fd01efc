// Ends the compilers of this process when its user wants an end.
#pragma once

#include <functional>
#include <thread>

namespace attune {

// While an object of this class lives, and once `stop_requested` returns true, it kills every
// program that this process has started and that leads a process group or runs in one of its own
// (compilers), with all descendants. Ctrl-C at a terminal does not reach them. The thread that
// waits for such a program sees that it was killed. Worker processes that evaluate candidates lead
// such groups, too: do not use this class while they work.
class CompilerWatch {
 public:
  // Another thread calls `stop_requested` every 50 ms. If no thread can be started, compilers run
  // to their end.
  explicit CompilerWatch(std::function<bool()> stop_requested);

 private:
  void Watch(const std::stop_token& stop) const;

  std::function<bool()> stop_requested_;
  std::jthread thread_;  // Last: joined before the members it uses.
};

}  // namespace attune
