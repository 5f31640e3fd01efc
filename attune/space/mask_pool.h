// Sets of the values of one parameter, each kept once. Private to this module.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attune/space/tuple_table.h"

namespace attune {

using MaskId = uint32_t;

// Bit i of a mask represents the value at position i. Not thread-safe.
class MaskPool {
 public:
  static constexpr MaskId kEmpty = 0;
  static constexpr MaskId kFull = 1;

  // REQUIRES: values > 0.
  explicit MaskPool(size_t values)
      : words_((values + 63) / 64), scratch_(words_, 0), masks_(words_) {
    masks_.Intern(scratch_.data());
    for (size_t i = 0; i < values; ++i) Set(scratch_, i);
    masks_.Intern(scratch_.data());
  }

  // A mask to be filled with Set.
  std::vector<uint64_t> Blank() const { return std::vector<uint64_t>(words_, 0); }
  static void Set(std::vector<uint64_t>& mask, size_t value) {
    mask[value / 64] |= uint64_t{1} << (value % 64);
  }
  MaskId Intern(const std::vector<uint64_t>& mask) { return masks_.Intern(mask.data()); }

  // Size of all masks, in words of 8 bytes.
  size_t words() const { return masks_.size() * words_; }

  // The values in both.
  MaskId And(MaskId a, MaskId b) {
    if (a == b || b == kFull) return a;
    if (a == kFull) return b;
    const uint64_t* const left = masks_.At(a);
    const uint64_t* const right = masks_.At(b);
    for (size_t i = 0; i < words_; ++i) scratch_[i] = left[i] & right[i];
    return masks_.Intern(scratch_.data());
  }

  size_t Count(MaskId id) const {
    size_t count = 0;
    for (size_t i = 0; i < words_; ++i)
      count += static_cast<size_t>(std::popcount(masks_.At(id)[i]));
    return count;
  }

  // Calls `visit(position)` for each value of the mask, ascending. `visit` may add masks.
  template <class Visit>
  void ForEach(MaskId id, const Visit& visit) const {
    for (size_t i = 0; i < words_; ++i) {
      for (uint64_t bits = masks_.At(id)[i]; bits != 0; bits &= bits - 1) {
        visit(static_cast<uint32_t>(i * 64 + static_cast<size_t>(std::countr_zero(bits))));
      }
    }
  }

 private:
  size_t words_;
  std::vector<uint64_t> scratch_;
  TupleTable masks_;
};

}  // namespace attune
