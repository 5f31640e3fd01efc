// Tracks which calls of a BLAS library start threads, and whether they may.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "attune/base/guest_thread.h"
#include "attune/base/status.h"

namespace attune::host {

// Libraries do not survive a failed thread start: OpenBLAS waits for the thread for ever, BLIS
// leaves its part of C out, and OpenMP runtimes end the process. So each start is checked first.
// Thread-safe.
class LibraryThreads {
 public:
  enum class Kind {
    kKept,       // The process keeps them between calls: OpenBLAS.
    kPerCaller,  // Each calling thread keeps its own: OpenMP.
    kPerCall,    // Every call starts new ones: BLIS with POSIX threads.
  };
  // `count` threads, with the caller, run or were checked already. If they do not run, the next
  // call of any kind starts them.
  LibraryThreads(Kind kind, int count, bool are_running = true);

  Kind kind() const { return kind_; }
  // Threads, with the caller, that run after Check().
  int count() const { return count_.load(std::memory_order_relaxed); }

  // Checks that calls on `threads` threads, including the caller, may begin and start threads.
  // kResourceExhausted gives the reason.
  Status Check(int threads);

  // Returns true if no thread must be started now. Only libraries that keep threads can need it.
  bool AreRunning(int threads) const {
    return kind_ != Kind::kKept || (threads <= count_.load(std::memory_order_relaxed) &&
                                    checked_forks_.load(std::memory_order_relaxed) == Forks());
  }

  // Like Check(), for use just before a call, with at most the `threads` of an earlier Check().
  // Costs one or two comparisons, unless a fork() ended the threads or this caller has none yet.
  bool MayCall(int threads) {
    if (kind_ == Kind::kKept && checked_forks_.load(std::memory_order_relaxed) != Forks()) {
      return Check(count_.load(std::memory_order_relaxed)).ok();
    }
    return threads <= 1 || kind_ == Kind::kKept || MayStartForThisCaller(threads);
  }

  // True if a call on `threads` threads starts some of them. Ask before MayCall(), which counts
  // them as started.
  bool StartInCall(int threads) const {
    if (kind_ == Kind::kKept) return checked_forks_.load(std::memory_order_relaxed) != Forks();
    return threads > 1 && (kind_ == Kind::kPerCall || StartsTeam(threads));
  }

 private:
  // The forks of this process. Before each, OpenBLAS ends its threads, and its next call of any
  // kind restarts them.
  static uint64_t Forks() { return forks_.load(std::memory_order_relaxed); }
  bool MayStartForThisCaller(int threads) const;

  // For `checked_forks_`: equals no number of forks.
  static constexpr uint64_t kNotRunning = UINT64_MAX;
  static inline constinit std::atomic<uint64_t> forks_{0};

  const Kind kind_;
  std::mutex mutex_;  // Held while threads are checked.
  std::atomic<int> count_;
  std::atomic<uint64_t> checked_forks_;
};

}  // namespace attune::host
