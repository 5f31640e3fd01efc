// A call as the fast path sees it: plain words, compared and hashed without a look at their
// meaning.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attune {

// What a key is made of, in the hands of who calls.
struct KeyParts {
  const void* words = nullptr;  // 64 bits each.
  size_t word_count = 0;        // At least one.
  std::array<uint64_t, 2> last_words = {};
};

// Everything that decides which plan serves a call. Equal calls have equal words; unequal words may
// mean the same problem, which costs a second plan and nothing else.
struct PlanKey {
  static constexpr size_t kMaxWords = 32;

  uint64_t size = 0;  // Words in use; even, and not 0 in a key that is looked for.
  std::array<uint64_t, kMaxWords> words;

  // REQUIRES: the words fit.
  void Append(const void* from, size_t word_count) {
    std::memcpy(words.data() + size, from, word_count * sizeof(uint64_t));
    size += word_count;
  }
  void Append(uint64_t word) { words[size++] = word; }

  // The first word alone tells most shapes apart, without a call.
  friend bool operator==(const PlanKey& a, const PlanKey& b) {
    return a.size == b.size && a.words[0] == b.words[0] &&
           std::memcmp(a.words.data(), b.words.data(), a.size * sizeof(uint64_t)) == 0;
  }
  // Whether it is the key of `parts`, which are not copied for that.
  friend bool operator==(const PlanKey& key, const KeyParts& parts) {
    uint64_t first = 0;
    std::memcpy(&first, parts.words, sizeof first);
    return key.words[0] == first && key.size == parts.word_count + parts.last_words.size() &&
           key.words[parts.word_count] == parts.last_words[0] &&
           key.words[parts.word_count + 1] == parts.last_words[1] &&
           std::memcmp(key.words.data(), parts.words, parts.word_count * sizeof(uint64_t)) == 0;
  }
};

// Folded 64 x 64 -> 128 bit products in two independent lanes, so that the multiplications overlap.
inline uint64_t HashOf(const PlanKey& key) {
  const auto fold = [](uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  // Odd constants with half of their bits set: the digits of pi.
  constexpr uint64_t kFirst = 0x243f6a8885a308d3;
  constexpr uint64_t kSecond = 0x13198a2e03707345;
  uint64_t even = key.size * kFirst + 1;
  uint64_t odd = kSecond;
  size_t i = 0;
  for (; i + 4 <= key.size; i += 4) {
    even = fold(key.words[i] ^ kFirst ^ even, key.words[i + 1] ^ kSecond);
    odd = fold(key.words[i + 2] ^ kSecond ^ odd, key.words[i + 3] ^ kFirst);
  }
  for (; i < key.size; ++i) even = fold(key.words[i] ^ kSecond ^ even, kFirst);
  return fold(even ^ kSecond, odd ^ kFirst);
}

}  // namespace attune
