// A random order of [0, size) in constant memory.
#pragma once

#include <array>
#include <cstdint>

namespace attune {

// A bijection of [0, size) onto itself: a four-round Feistel network over the next even power of
// two. Results outside of the range are encrypted again until they fall inside (cycle walking,
// Black and Rogaway 2002; fewer than four steps on average). Immutable.
class Permutation {
 public:
  // REQUIRES: size > 0.
  Permutation(uint64_t size, uint64_t seed);

  uint64_t size() const { return size_; }
  // The `i`-th element of the order. REQUIRES: i < size().
  uint64_t At(uint64_t i) const;

 private:
  uint64_t Encrypt(uint64_t value) const;

  uint64_t size_;
  int half_bits_;
  std::array<uint64_t, 4> keys_;
};

}  // namespace attune
