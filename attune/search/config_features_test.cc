#include "attune/search/config_features.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

ConfigSpace Space() {
  return *ConfigSpace::Create(
      {{"tile", {int64_t{1}, int64_t{2}, int64_t{4}}},
       {"block", {int64_t{16}, int64_t{32}, int64_t{48}, int64_t{64}, int64_t{80}}},
       {"fixed", {int64_t{7}}},
       {"method", {std::string("b"), std::string("a")}}},
      {});
}

TEST(ConfigDigitsTest, ThereAndBackForEveryConfig) {
  const ConfigSpace space = Space();
  ConfigDigits digits(space);

  ASSERT_EQ(digits.size(), 3u);
  for (uint64_t index = 0; index < space.size(); ++index) {
    EXPECT_EQ(digits.IndexOf(digits.At(index)), index);
  }
}

TEST(ConfigFeaturesTest, RanksPowersOfTwoSingleValuesAndProducts) {
  const ConfigSpace space = Space();
  const ConfigDigits digits(space);
  const ConfigFeatures features(digits);

  std::vector<uint8_t> row;
  features.Write({1, 2, 0}, row);

  // method: rank; tile: rank, and one for each of its three values; block: rank of 48, and of 2^4
  // among the powers of two; tile times block.
  ASSERT_EQ(row.size(), 8u);
  EXPECT_EQ((std::vector<uint8_t>(row.begin(), row.begin() + 7)),
            (std::vector<uint8_t>{0, 1, 0, 1, 0, 2, 0}));
  EXPECT_GT(row[7], 100);
}

TEST(ConfigFeaturesTest, EqualProductsAreEqualFeatures) {
  const ConfigSpace space = Space();
  const ConfigDigits digits(space);
  const ConfigFeatures features(digits);
  std::vector<uint8_t> row;
  std::vector<uint8_t> other;

  features.Write({1, 1, 0}, row);    // 2 * 32
  features.Write({2, 0, 0}, other);  // 4 * 16

  EXPECT_EQ(row[7], other[7]);
}

TEST(ConfigLevelsTest, PositiveNumbersByTheirLogarithmAndWordsByTheirOrder) {
  const ConfigSpace space = Space();
  const ConfigDigits digits(space);
  const ConfigLevels levels(digits);

  std::vector<uint8_t> row;
  levels.Write({1, 1, 1}, row);

  // Two of 1, 2 and 4 is half way; 32 of 16 to 80 is 1 of log2(5) doublings.
  EXPECT_EQ(row, (std::vector<uint8_t>{128, 110, 255}));
}

TEST(ConfigLevelsTest, ParametersOfFewValuesJump) {
  const ConfigSpace space = Space();
  const ConfigDigits digits(space);
  const ConfigLevels levels(digits);

  EXPECT_GT(levels.jump(0), levels.jump(1));
  EXPECT_EQ(levels.jump(0), levels.jump(2));
}

}  // namespace
}  // namespace attune
