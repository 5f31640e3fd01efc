#include "backends/host/gemm/library_threads.h"

#include <pthread.h>

#include <algorithm>

namespace attune::host {

LibraryThreads::LibraryThreads(Kind kind, int count, bool are_running)
    : kind_(kind), count_(std::max(count, 1)), checked_forks_(kNotRunning) {
  static const int watches = ::pthread_atfork(
      nullptr, [] { forks_.fetch_add(1, std::memory_order_relaxed); }, nullptr);
  (void)watches;
  if (are_running) checked_forks_.store(Forks(), std::memory_order_relaxed);
}

Status LibraryThreads::Check(int threads) {
  if (kind_ != Kind::kKept) return ExpectThreads(threads - 1);
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t forks = Forks();
  const bool are_running = checked_forks_.load(std::memory_order_relaxed) == forks;
  const int running = count_.load(std::memory_order_relaxed);
  if (!are_running || threads > running) {
    const int wanted = std::max(threads, running);
    ATTUNE_RETURN_IF_ERROR(CheckThreads(wanted - (are_running ? running : 1)));
    count_.store(wanted, std::memory_order_relaxed);
  }
  checked_forks_.store(forks, std::memory_order_relaxed);
  return Status::Ok();
}

bool LibraryThreads::MayStartForThisCaller(int threads) const {
  return kind_ == Kind::kPerCaller ? HasTeam(threads) : CheckThreads(threads - 1).ok();
}

}  // namespace attune::host
