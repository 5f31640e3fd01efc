// The threads of a BLAS library: which of its calls start some, and whether they may.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "attune/base/status.h"

namespace attune::host {

// Libraries do not survive a thread that cannot be started: OpenBLAS waits for it for ever, BLIS
// leaves its part of C out, OpenMP's runtimes end the process. So nothing is asked of them that was
// not checked before. Thread-safe.
class LibraryThreads {
 public:
  enum class Kind {
    kKept,       // They are the process's, and stay from call to call: OpenBLAS.
    kPerCaller,  // Each thread that calls keeps some of its own: OpenMP.
    kPerCall,    // Every call starts new ones: BLIS with POSIX threads.
  };
  // `running` of them, the caller included, run or were checked already.
  LibraryThreads(Kind kind, int running);

  Kind kind() const { return kind_; }

  // Whether calls on `threads` threads, the caller included, may begin; the library may start them
  // then. kResourceExhausted says why not.
  Status Check(int threads);

  // Whether nothing has to be started for them: always, but where the library keeps them.
  bool AreRunning(int threads) const {
    return kind_ != Kind::kKept || (threads <= running_.load(std::memory_order_relaxed) &&
                                    checked_forks_.load(std::memory_order_relaxed) == Forks());
  }

  // As Check(), just before a call and for at most what was checked: costs a comparison or two
  // unless the library has lost its threads to a fork(), or this thread has none yet.
  bool MayCall(int threads) {
    if (kind_ == Kind::kKept && checked_forks_.load(std::memory_order_relaxed) != Forks()) {
      return Check(running_.load(std::memory_order_relaxed)).ok();
    }
    return threads <= 1 || kind_ == Kind::kKept || MayStartForThisCaller(threads);
  }

 private:
  // Of this process by itself: OpenBLAS ends its threads before each of them, and its next call of
  // any kind starts them anew.
  static uint64_t Forks() { return forks_.load(std::memory_order_relaxed); }
  bool MayStartForThisCaller(int threads) const;

  static inline constinit std::atomic<uint64_t> forks_{0};

  const Kind kind_;
  std::mutex mutex_;  // Held while threads are checked.
  std::atomic<int> running_;
  std::atomic<uint64_t> checked_forks_;
};

}  // namespace attune::host
