#include "attune/search/permutation.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "attune/base/random.h"

namespace attune {

Permutation::Permutation(uint64_t size, uint64_t seed)
    : size_(size), half_bits_(std::max(1, static_cast<int>(std::bit_width(size - 1) + 1) / 2)) {
  assert(size > 0);
  Random random(seed);
  for (uint64_t& key : keys_) key = random.Next();
}

uint64_t Permutation::At(uint64_t i) const {
  assert(i < size_);
  uint64_t value = Encrypt(i);
  while (value >= size_) value = Encrypt(value);
  return value;
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (const uint64_t key : keys_) {
    const uint64_t mixed = left ^ (Random(key + right).Next() & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits_ | right;
}

}  // namespace attune
