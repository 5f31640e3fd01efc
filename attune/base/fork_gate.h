// Keeps a fork() from copying libraries while another thread is inside of them.
#pragma once

#include <chrono>
#include <functional>

namespace attune {

// A child has the memory of its parent, but of its threads only the one that forked: the child
// never releases a lock that another thread holds at that moment. While a ForkGate lives, a fork()
// of another thread waits for its end, at most kLongestWait; while a fork() is in progress, the
// constructor waits. May be nested. Thread-safe.
//
// For short work that calls code with locks of its own: loading a library, creating an object with
// it. Processes that posix_spawn() starts do not wait, because they copy nothing.
class ForkGate {
 public:
  static constexpr std::chrono::milliseconds kLongestWait{1000};

  ForkGate();
  ~ForkGate();
  ForkGate(const ForkGate&) = delete;
  ForkGate& operator=(const ForkGate&) = delete;

  // Waits at most `timeout` for the gates of all other threads to end. Returns false if they have
  // not ended.
  static bool AwaitOthers(std::chrono::nanoseconds timeout);
};

// Keeps a fork() from copying some state half changed. The forking thread calls both functions,
// once per fork(), when the gates have ended. If an object has that state, the watcher is its last
// member.
class ForkWatcher {
 public:
  using Before = std::function<void()>;
  using After = std::function<void(bool is_child)>;  // In the parent, and in the child.

  // `before` runs before the handlers of libraries that were loaded earlier.
  ForkWatcher(Before before, After after);
  ~ForkWatcher();
  ForkWatcher(const ForkWatcher&) = delete;
  ForkWatcher& operator=(const ForkWatcher&) = delete;

 private:
  friend class Gatekeeper;
  const Before before_;
  const After after_;
};

}  // namespace attune
