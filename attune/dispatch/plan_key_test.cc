#include "attune/dispatch/plan_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <vector>

namespace attune {
namespace {

PlanKey KeyOfWords(const std::vector<uint64_t>& words) {
  PlanKey key;
  key.Append(words.data(), words.size());
  return key;
}

// As many words as the key of a convolution has, the shapes of a model in the first ones.
PlanKey ShapeKey(uint64_t number) {
  std::vector<uint64_t> words(26, 0);
  words[0] = 1 + number % 32;
  words[1] = 16 * (1 + number / 32 % 64);
  words[2] = 16 * (1 + number / 2048);
  words[25] = 5;
  return KeyOfWords(words);
}

TEST(PlanKeyTest, EveryBitOfEveryWordCounts) {
  const std::vector<uint64_t> words(PlanKey::kMaxWords, 7);
  const PlanKey key = KeyOfWords(words);
  for (size_t word = 0; word < words.size(); ++word) {
    for (int bit = 0; bit < 64; ++bit) {
      std::vector<uint64_t> changed = words;
      changed[word] ^= uint64_t{1} << bit;

      const PlanKey other = KeyOfWords(changed);

      EXPECT_FALSE(key == other) << word << " " << bit;
      EXPECT_NE(HashOf(key), HashOf(other)) << word << " " << bit;
    }
  }
}

TEST(PlanKeyTest, ALongerKeyDiffersFromItsBeginning) {
  const PlanKey two = KeyOfWords({1, 2});
  const PlanKey four = KeyOfWords({1, 2, 0, 0});

  EXPECT_FALSE(two == four);
  EXPECT_NE(HashOf(two), HashOf(four));
}

TEST(PlanKeyTest, EqualsItsPartsAndNoOthers) {
  const std::vector<uint64_t> words = {1, 2, 3, 4};
  const PlanKey key = KeyOfWords({1, 2, 3, 4, 5, 6});

  EXPECT_TRUE(key == (KeyParts{words.data(), 4, {5, 6}}));
  EXPECT_FALSE(key == (KeyParts{words.data(), 4, {5, 7}}));
  EXPECT_FALSE(key == (KeyParts{words.data(), 4, {4, 6}}));
  EXPECT_FALSE(key == (KeyParts{words.data(), 2, {3, 4}}));
  for (size_t i = 0; i < words.size(); ++i) {
    std::vector<uint64_t> changed = words;
    changed[i] ^= uint64_t{1} << 63;
    EXPECT_FALSE(key == (KeyParts{changed.data(), 4, {5, 6}})) << i;
  }
}

TEST(PlanKeyTest, WordsThatChangePlacesGiveAnotherKey) {
  EXPECT_NE(HashOf(KeyOfWords({1, 2, 3, 4})), HashOf(KeyOfWords({3, 4, 1, 2})));
  EXPECT_NE(HashOf(KeyOfWords({1, 2, 3, 4})), HashOf(KeyOfWords({2, 1, 4, 3})));
}

TEST(PlanKeyTest, WordsBehindTheEndDoNotCount) {
  PlanKey a = KeyOfWords({1, 2});
  PlanKey b = KeyOfWords({1, 2});
  a.words[2] = 5;
  b.words[2] = 6;

  EXPECT_EQ(a, b);
  EXPECT_EQ(HashOf(a), HashOf(b));
}

TEST(PlanKeyTest, TheHashesOfManyShapesAreDistinctAndSpread) {
  constexpr size_t kShapes = 100'000;
  constexpr size_t kBuckets = 1 << 17;
  std::set<uint64_t> hashes;
  std::vector<int> buckets(kBuckets);

  for (uint64_t i = 0; i < kShapes; ++i) {
    const uint64_t hash = HashOf(ShapeKey(i));
    hashes.insert(hash);
    ++buckets[hash % kBuckets];
  }

  EXPECT_EQ(hashes.size(), kShapes);
  // Random numbers fill 53 % of the buckets and put 7 to 10 into the fullest.
  const auto filled = std::count_if(buckets.begin(), buckets.end(), [](int n) { return n > 0; });
  EXPECT_GT(filled, static_cast<int64_t>(kBuckets * 52 / 100));
  EXPECT_LE(*std::max_element(buckets.begin(), buckets.end()), 12);
}

TEST(PlanKeyTest, OneChangedBitChangesHalfOfTheHashOnAverage) {
  int64_t changed_bits = 0;
  int64_t pairs = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    PlanKey key = ShapeKey(i);
    const uint64_t before = HashOf(key);
    key.words[i % 26] ^= uint64_t{1} << (i % 64);
    changed_bits += std::popcount(before ^ HashOf(key));
    ++pairs;
  }

  const double average = static_cast<double>(changed_bits) / static_cast<double>(pairs);
  EXPECT_GT(average, 30);
  EXPECT_LT(average, 34);
}

}  // namespace
}  // namespace attune
