// Keeps a fork() from copying libraries while another thread is inside of them.
#pragma once

#include <chrono>

namespace attune {

// A child has the memory of its parent, but of its threads only the one that forked: a lock that
// another one holds at that moment is never let go in the child. While a ForkGate lives, a fork()
// of another thread waits for its end, at most kLongestWait; while a fork() is in progress, the
// constructor waits. May be nested. Thread-safe.
//
// For work that is short and calls what keeps locks of its own: loading a library, creating
// something with it. Processes that posix_spawn() starts do not wait, because they copy nothing.
class ForkGate {
 public:
  static constexpr std::chrono::milliseconds kLongestWait{1000};

  ForkGate();
  ~ForkGate();
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;
};

}  // namespace attune
