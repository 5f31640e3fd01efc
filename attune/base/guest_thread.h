// Threads in the host program: attune's own, and those that libraries are about to start.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

#include "attune/base/status.h"

namespace attune {

// Ok if a library may start `count` more threads. The limits of this process must leave enough for
// the program (MayTakeThreads), and starting that many as a trial must succeed. Otherwise
// kResourceExhausted. Takes about 0.1 ms, less after a failure within the last second. Thread-safe.
Status CheckThreads(int count);
// As CheckThreads(), but accepts a result from the last second. For decisions, not right before a
// start.
Status ExpectThreads(int count);

// The OpenMP threads that passed CheckTeam() for this thread, itself included. Each calling thread
// has an OpenMP team of its own.
extern constinit thread_local int team_of_this_thread;
bool CheckTeam(int threads);
// True if a call on `threads` OpenMP threads starts some of them.
inline bool StartsTeam(int threads) { return threads > team_of_this_thread; }
// True if this thread may call a library that uses `threads` OpenMP threads. OpenMP ends the
// process if it cannot start a thread, so the first call with a larger number checks them.
inline bool HasTeam(int threads) { return threads <= team_of_this_thread || CheckTeam(threads); }

// Makes the data of exceptions of this thread. glibc ends the process if it cannot make them for
// the first exception, which is often one about memory. False if too little memory is left: the
// thread has to end without an exception.
bool PrepareForExceptions();

// A thread for optional work. Not thread-safe.
class GuestThread {
 public:
  GuestThread() = default;
  // Joins.
  ~GuestThread() { Join(); }
  GuestThread(const GuestThread&) = delete;
  GuestThread& operator=(const GuestThread&) = delete;

  // Returns true if `body` now runs in a thread. The thread gets only signals that it causes
  // itself. Returns false if the limits of this process leave too little, or if the system refuses.
  // Waits until the thread has the memory that an exception needs. An exception from `body` ends
  // the thread and nothing else. The stack size is explicit, because the default follows
  // RLIMIT_STACK. REQUIRES: !joinable().
  bool Start(std::function<void()> body, size_t stack_bytes = kStackBytes);
  // Large enough for drivers and libraries that compile in the background.
  static constexpr size_t kStackBytes = size_t{8} << 20;
  // False if Start() failed less than a second ago and would fail again. Costs one clock read.
  static bool MayStart();
  // False if the program leaves too little for optional work: address space, or system calls
  // (HasNewCallFilter()). Then such a thread does nothing more. Takes some microseconds.
  static bool MayGoOn();

  bool joinable() const { return is_joinable_; }
  // Waits for the thread to end; returns at once without one.
  void Join();

 private:
  pthread_t thread_{};
  bool is_joinable_ = false;
};

}  // namespace attune
