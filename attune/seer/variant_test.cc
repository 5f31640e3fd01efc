#include "attune/seer/variant.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/seer/synthetic.h"

namespace attune::seer {
namespace {

double Blocks(std::string_view name, const Layer& layer, Rules rules = Rules::kFixed) {
  return BlocksOf(*FindVariant(name), layer, rules);
}

TEST(Variants, BlocksAreThoseOfTheTables) {
  const Layer x = {128, 64, 40, 100, 38, 3, 1, 0};  // N P^2 = 184832.

  EXPECT_EQ(Blocks("algo0_32x32", x), 5776 * 4);
  EXPECT_EQ(Blocks("algo0_64x128", x), 2888 * 1);
  EXPECT_EQ(Blocks("algo2_128x128", x), 1444 * 1);
  EXPECT_EQ(Blocks("algo1_128x64", x), 1444 * 2);
  EXPECT_EQ(Blocks("algo6_148", x), 128 * 5 * 3 * 4);
  EXPECT_EQ(Blocks("algo6_228", x), 64 * 10 * 3 * 4);
  EXPECT_EQ(Blocks("algo6_418", x), 32 * 20 * 3 * 4);
  EXPECT_EQ(Blocks("algo7_128x64_3x3", x), 100 * 2 * 36);
  EXPECT_EQ(Blocks("algo7_128x64_5x5", x), 25 * 2 * 169);
}

TEST(Variants, BlocksOfTheLargestLayerThatIsReadAreCounted) {
  constexpr int64_t kMost = int64_t{1} << 20;
  const Layer x = {kMost, kMost, kMost, kMost, kMost, 1, 1, 0};

  EXPECT_EQ(Blocks("algo0_32x32", x), std::ldexp(1, 60 - 5 + 20 - 5));
  EXPECT_EQ(Blocks("algo6_148", x), std::ldexp(1, 20 + 17 + 16 + 15));
  EXPECT_EQ(Blocks("algo7_128x64_3x3", x), 36 * std::ldexp(1, 20 + 18 + 18 - 7 + 20 - 6));
}

TEST(Variants, The128WideTileOfAlgorithm7CountsItsOwnWidth) {
  const Layer x = {128, 64, 40, 128, 38, 3, 1, 0};

  EXPECT_EQ(Blocks("algo7_128x128_3x3", x), 100 * 1 * 36);
  EXPECT_EQ(Blocks("algo7_128x128_3x3", x, Rules::kAsPublished), 100 * 2 * 36);
}

TEST(Variants, OnlyTheNarrowVariantPadsItsChannels) {
  const Layer x = {1, 3, 10, 3, 10, 1, 1, 0};

  EXPECT_EQ(PaddedLayer(*FindVariant("algo1_128x32"), x, Rules::kFixed).k, 32);
  EXPECT_EQ(PaddedLayer(*FindVariant("algo1_128x64"), x, Rules::kFixed).k, 3);
  EXPECT_EQ(PaddedLayer(*FindVariant("algo1_128x64"), x, Rules::kAsPublished).k, 32);
  EXPECT_EQ(PaddedLayer(*FindVariant("algo0_32x32"), x, Rules::kAsPublished).k, 3);
}

TEST(Variants, Algorithm1ChoosesByItsOutputChannels) {
  for (const auto& [k, name] :
       std::vector<std::pair<int64_t, std::string_view>>{{1, "algo1_128x32"},
                                                         {32, "algo1_128x32"},
                                                         {33, "algo1_128x64"},
                                                         {64, "algo1_128x64"},
                                                         {65, "algo1_128x32"},
                                                         {96, "algo1_128x32"},
                                                         {97, "algo1_128x128"},
                                                         {128, "algo1_128x128"},
                                                         {129, "algo1_128x64"},
                                                         {192, "algo1_128x64"},
                                                         {193, "algo1_128x128"},
                                                         {256, "algo1_128x128"},
                                                         {257, "algo1_128x64"},
                                                         {320, "algo1_128x64"},
                                                         {321, "algo1_128x128"}}) {
    EXPECT_EQ(PrecompVariant(k).name, name) << k;
  }
}

TEST(SplitByVariant, TiesAreDecidedByResidencyOrLeftOut) {
  const Layer tie = {1, 3, 10, 3, 8, 3, 1, 0};     // 64 positions: a block of either tile.
  const Layer clear = {1, 3, 66, 3, 64, 3, 1, 0};  // 4096 positions.
  std::vector<KernelRecord> records;
  for (const std::string_view name : {"algo0_32x32", "algo0_64x128", "algo0_128x128"}) {
    for (const KernelRecord& x : MakeRecords(*FindVariant(name), {}, {tie, clear}, 0, 1)) {
      records.push_back(x);
    }
  }

  const VariantRecords fixed = SplitByVariant(records, 0, kTitanXpProcessors, Rules::kFixed);
  const VariantRecords published =
      SplitByVariant(records, 0, kTitanXpProcessors, Rules::kAsPublished);

  EXPECT_EQ(fixed.by_variant[0].size(), 2u);
  EXPECT_EQ(fixed.by_variant[1].size(), 1u);  // The tie has the same residency in both.
  EXPECT_EQ(fixed.by_variant[2].size(), 1u);
  EXPECT_EQ(fixed.ambiguous, 2u);
  EXPECT_EQ(published.ambiguous, 1u);
  EXPECT_EQ(published.by_variant[1].size() + published.by_variant[2].size(), 0u);
}

TEST(SplitByTime, SevenOfTenAreLearntAndOnlyThePublishedOneLosesTheQuickest) {
  std::vector<KernelRecord> records(20);
  for (size_t i = 0; i < records.size(); ++i) records[i].time_ms = 20.0 - static_cast<double>(i);

  const RecordSplit fixed = SplitByTime(records, Rules::kFixed);
  const RecordSplit published = SplitByTime(records, Rules::kAsPublished);

  EXPECT_EQ(fixed.learnt.size(), 14u);
  EXPECT_EQ(fixed.held_out.size(), 6u);
  EXPECT_EQ(fixed.learnt[0].time_ms, 1);
  EXPECT_EQ(published.learnt.size() + published.held_out.size(), 19u);
  EXPECT_EQ(published.learnt[0].time_ms, 2);
}

}  // namespace
}  // namespace attune::seer
