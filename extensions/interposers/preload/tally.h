// How many calls came, and what became of them.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "extensions/interposers/preload/outcome.h"

namespace attune::interposer {

// Thread-safe. Counting can be left out, because a counter that every thread writes costs more than
// the rest of a preload library; whether any call came is always known.
class Tally {
 public:
  void StartCounting() { is_counting_.store(true, std::memory_order_relaxed); }

  // Makes any_in_family() count forked children. Call it while the process starts. Takes a page.
  void WatchChildren() {
    void* const page =
        ::mmap(nullptr, sizeof *family_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) family_ = new (page) std::atomic<bool>(false);
  }

  void Note(Outcome outcome) {
    if (!any_.load(std::memory_order_relaxed)) {
      any_.store(true, std::memory_order_relaxed);
      if (family_ != nullptr) family_->store(true, std::memory_order_relaxed);
    }
    if (!is_counting_.load(std::memory_order_relaxed)) return;
    counts_[static_cast<int>(outcome)].fetch_add(1, std::memory_order_relaxed);
  }

  // True if a call came to this process or to a child that it forked.
  bool any_in_family() const {
    return any_.load(std::memory_order_relaxed) ||
           (family_ != nullptr && family_->load(std::memory_order_relaxed));
  }
  bool is_counting() const { return is_counting_.load(std::memory_order_relaxed); }
  uint64_t count(Outcome outcome) const {
    return counts_[static_cast<int>(outcome)].load(std::memory_order_relaxed);
  }
  void Clear() {
    for (auto& count : counts_) count.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> any_ = false;
  std::atomic<bool>* family_ = nullptr;  // Shared with children.
  std::atomic<bool> is_counting_ = false;
  std::atomic<uint64_t> counts_[kOutcomes] = {};
};

}  // namespace attune::interposer
