#include "attune/model/seer_variant.h"

#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace attune::seer
