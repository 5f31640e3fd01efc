// Tuples of numbers, each kept once and known by a small number. Private to this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attune {

// All tuples have the same width, which may be 0. Not thread-safe.
class TupleTable {
 public:
  explicit TupleTable(size_t width = 0) : width_(width), slots_(kFirstSlots, kFree) {}

  // The number of the tuple of `width` words at `words`: the next one if it is new.
  uint32_t Intern(const uint64_t* words) {
    if ((size_ + 1) * 2 > slots_.size()) Grow();
    size_t slot = Hash(words) & (slots_.size() - 1);
    while (slots_[slot] != kFree) {
      if (AreEqual(words, At(slots_[slot]))) return slots_[slot];
      slot = (slot + 1) & (slots_.size() - 1);
    }
    const auto id = static_cast<uint32_t>(size_++);
    slots_[slot] = id;
    words_.insert(words_.end(), words, words + width_);
    return id;
  }

  const uint64_t* At(uint32_t id) const { return words_.data() + id * width_; }
  size_t size() const { return size_; }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr size_t kFirstSlots = 16;  // A power of two, as every size of `slots_`.

  // A loop, because widths are small, and pointers to no words may be null.
  bool AreEqual(const uint64_t* a, const uint64_t* b) const {
    for (size_t i = 0; i < width_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

  uint64_t Hash(const uint64_t* words) const {
    uint64_t hash = 0x9E3779B97F4A7C15ull;
    for (size_t i = 0; i < width_; ++i) {
      const unsigned __int128 product =
          static_cast<unsigned __int128>(hash ^ words[i]) * 0xD6E8FEB86659FD93ull;
      hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
    return hash;
  }

  void Grow() {
    slots_.assign(slots_.size() * 4, kFree);
    for (uint32_t id = 0; id < size_; ++id) {
      size_t slot = Hash(At(id)) & (slots_.size() - 1);
      while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = id;
    }
  }

  size_t width_;
  size_t size_ = 0;
  std::vector<uint64_t> words_;
  std::vector<uint32_t> slots_;  // Numbers of tuples, by hash.
};

}  // namespace attune
