// Copies of the operands of a problem that a measurement uses in turn, so that none of them is
// still in the cache when it is used again. A plan and an order; the measuring code owns the
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/tensor.h"

namespace attune {

// All copies lie in one block of memory.
struct RotationPlan {
  size_t copies = 1;
  size_t copy_bytes = 0;                // Distance between the starts of two copies.
  std::vector<size_t> operand_offsets;  // For each operand within its copy.
  size_t total_bytes = 0;               // Size of the block: copies * copy_bytes.

  friend bool operator==(const RotationPlan&, const RotationPlan&) = default;
};

// Copies of the smallest operands for a cache of several MiB; filling more would take longer than
// using them.
inline constexpr size_t kMaxRotationCopies = 4096;

// As many copies as exceed `budget_bytes` together, at least 1 and 1 for a budget of 0; at most
// kMaxRotationCopies, and as many as `limit_bytes` has room for. An operand takes its span, so that
// views and padded columns are copied whole, and starts at a multiple of `alignment_bytes` (a power
// of two). kResourceExhausted if the block would exceed `limit_bytes` even with fewer copies than
// two.
Result<RotationPlan> PlanRotation(std::span<const Operand> operands, int64_t budget_bytes,
                                  size_t alignment_bytes, size_t limit_bytes);

// Fills every copy with the operands as they are: zeros or stale memory would be timed otherwise.
// REQUIRES: `sources` has the span of each operand, `block` has total_bytes.
void FillRotation(const RotationPlan& plan, std::span<const std::span<const std::byte>> sources,
                  std::span<std::byte> block);

// The next copy. One for all measurements of a problem: a candidate continues where the one before
// it stopped, and each copy is used as often as every other.
class Rotation {
 public:
  explicit Rotation(const RotationPlan& plan) : copies_(plan.copies), bytes_(plan.copy_bytes) {}

  // The number of the copy to use now; 0, 1, ..., copies - 1, 0, ...
  size_t Next() {
    const size_t now = next_;
    next_ = next_ + 1 == copies_ ? 0 : next_ + 1;
    return now;
  }
  // Its offset in the block.
  size_t NextOffset() { return Next() * bytes_; }

 private:
  size_t copies_;
  size_t bytes_;
  size_t next_ = 0;
};

}  // namespace attune
