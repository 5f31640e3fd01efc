// Threads in somebody else's program: attune's own, and those that libraries are about to start.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

#include "attune/base/status.h"

namespace attune {

// Ok if a library may be asked for `count` more threads: the limits of this process leave enough
// for the program beside them (MayTakeThreads), and so many could be started right now, which is
// tried. Else kResourceExhausted. Takes some 0.1 ms, less where it failed within the last second.
// Thread-safe.
Status CheckThreads(int count);
// As CheckThreads(), but what was found within the last second will do: for a decision, not right
// before a start.
Status ExpectThreads(int count);

// The threads, itself included, that OpenMP may keep for this thread: each thread that calls has
// some of its own.
extern constinit thread_local int team_of_this_thread;
bool CheckTeam(int threads);
// Whether this thread may call a library on `threads` threads of OpenMP, which ends the process
// where it cannot start one. They are checked when this thread first asks for so many.
inline bool HasTeam(int threads) { return threads <= team_of_this_thread || CheckTeam(threads); }

// A thread that nothing depends on. Not thread-safe.
class GuestThread {
 public:
  GuestThread() = default;
  // Joins.
  ~GuestThread() { Join(); }
  GuestThread(const GuestThread&) = delete;
  GuestThread& operator=(const GuestThread&) = delete;

  // Whether `body` runs in a thread now, which gets no signal but those that it causes itself. Not
  // if the limits of this process leave too little for the program beside it, or the system
  // refuses; the caller does without. What `body` throws ends the thread and nothing else. The
  // stack is said, because the default follows RLIMIT_STACK. REQUIRES: !joinable().
  bool Start(std::function<void()> body, size_t stack_bytes = kStackBytes);
  // Drivers and libraries compile in the background.
  static constexpr size_t kStackBytes = size_t{8} << 20;
  // False where Start() would fail because it failed less than a second ago. Costs a look at the
  // clock.
  static bool MayStart();

  bool joinable() const { return is_joinable_; }
  // Waits for the end of the thread, if there is one.
  void Join();

 private:
  pthread_t thread_{};
  bool is_joinable_ = false;
};

}  // namespace attune
