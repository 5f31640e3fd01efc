// Ends the compilers of this process when its user wants an end.
#pragma once

#include <functional>
#include <thread>

namespace attune {

// While an object of this class lives, and once `stop_requested` says so, every program that this
// process has started and that leads a process group, or runs in one of its own (compilers), is
// killed with all that it has started in turn. Ctrl-C at a terminal does not reach them. Whoever
// waits for one of them is told that it was killed. Children that evaluate candidates lead such
// groups, too: not for a time in which they work.
class CompilerWatch {
 public:
  // `stop_requested` is asked by another thread, every 50 ms. Where no thread can be had, compilers
  // go on for as long as they take.
  explicit CompilerWatch(std::function<bool()> stop_requested);

 private:
  void Watch(const std::stop_token& stop) const;

  std::function<bool()> stop_requested_;
  std::jthread thread_;  // Last: it is joined before what it asks goes.
};

}  // namespace attune
