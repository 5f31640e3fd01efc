// A pointer to what each process makes for itself after a fork().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "attune/base/status.h"
#include "runtime/fork_watch.h"

namespace attune {

// Owns nothing. Thread-safe, and without a lock that another thread could hold while its process
// forks: who makes the pointer claims the generation of its process, which a child of that process
// does not share.
template <class T>
class PerProcess {
 public:
  // `made` is of this process.
  explicit PerProcess(T* made)
      : current_(made), made_in_(ForkGeneration()), claimed_by_(ForkGeneration()) {}

  // What this process has; null if it has made nothing yet.
  T* get() const {
    if (made_in_.load(std::memory_order_acquire) != ForkGeneration()) [[unlikely]]
      return nullptr;
    return current_.load(std::memory_order_relaxed);
  }
  // What the process has that made the last one, a parent's if this one has none.
  T* last() const { return current_.load(std::memory_order_acquire); }

  // get(), or what `make` returns, a Result<T*>; other threads that ask meanwhile wait for it.
  // After a failure the next one tries again.
  template <class Make>
  Result<T*> GetOrMake(const Make& make) {
    const uint64_t here = ForkGeneration();
    while (get() == nullptr) {
      uint64_t claimed = claimed_by_.load();
      if (claimed == here || !claimed_by_.compare_exchange_strong(claimed, here)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      const Result<T*> made = make();
      if (!made.ok()) {
        claimed_by_.store(made_in_.load());
        return made.error();
      }
      current_.store(*made, std::memory_order_release);
      made_in_.store(here, std::memory_order_release);
    }
    return get();
  }

 private:
  std::atomic<T*> current_;
  std::atomic<uint64_t> made_in_;
  std::atomic<uint64_t> claimed_by_;
};

}  // namespace attune
