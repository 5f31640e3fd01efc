// The set of problems that a process has recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"

namespace attune {

// A set with 16 bytes per problem, in a table that is at most half full. Beyond `limit` it forgets
// all problems, so repeated problems count as new. Each costs one line, which the import ignores.
// Not thread-safe.
class KnownProblems {
 public:
  explicit KnownProblems(size_t limit) : limit_(limit) {}

  bool Contains(const Fingerprint& problem) {
    return !slots_.empty() && SlotOf(problem) == problem;
  }

  // True if it was not there.
  bool Insert(const Fingerprint& problem) {
    if (size_ >= limit_) Clear();
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Fingerprint& slot = SlotOf(problem);
    if (slot == problem) return false;
    slot = problem;
    ++size_;
    return true;
  }

 private:
  static constexpr size_t kFirstSlots = 256;

  // The slot of `problem`, or the free slot where it belongs. All zeros mark a free slot: no text
  // has that key.
  Fingerprint& SlotOf(const Fingerprint& problem) {
    size_t at = problem.low & (slots_.size() - 1);
    while (slots_[at] != problem && slots_[at] != Fingerprint{})
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void Grow() {
    std::vector<Fingerprint> before(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    std::swap(before, slots_);
    for (const Fingerprint& problem : before) {
      if (problem != Fingerprint{}) SlotOf(problem) = problem;
    }
  }

  void Clear() {
    slots_.clear();
    slots_.shrink_to_fit();
    size_ = 0;
  }

  const size_t limit_;
  size_t size_ = 0;
  std::vector<Fingerprint> slots_;  // A power of two, or empty.
};

}  // namespace attune
