#include "backends/cuda/cudnn/cudnn_knobs.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gmock/gmock.h>

namespace attune::cuda {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kSeed = 7;

std::set<int64_t> ValuesOf(const std::vector<KnobValues>& variants, int64_t type) {
  std::set<int64_t> values;
  for (const KnobValues& variant : variants) {
    if (const auto place = variant.find(type); place != variant.end()) values.insert(place->second);
  }
  return values;
}

TEST(CudnnKnobsTest, WhatIsWrittenIsReadBack) {
  for (const KnobValues& knobs :
       {KnobValues{}, KnobValues{{2, 1}}, KnobValues{{2, 1}, {5, 0}, {27, -3}},
        KnobValues{{0, std::numeric_limits<int64_t>::max()}}}) {
    const std::string text = TextOf(knobs);

    const auto read = ParseKnobs(text);

    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, knobs) << text;
  }
  EXPECT_EQ(TextOf({}), "none");
  EXPECT_EQ(TextOf({{5, 0}, {2, 1}}), "k2:1.k5:0");
}

TEST(CudnnKnobsTest, WhatIsNotWrittenSoIsRefusedWithItsText) {
  for (const char* text : {"", "k", "k2", "k2:", "k2:1.", "k2:1k5:0", "2:1", "k2:1.k2:3",
                           "k5:0.k2:1", "k02:1", "k2:1 ", "none.k2:1", "k2:99999999999999999999"}) {
    const auto read = ParseKnobs(text);

    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(read.status().message(), HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(CudnnKnobsTest, ARangeHasItsEndsAndWhatLiesAStrideApart) {
  EXPECT_EQ(CountOf({1, 0, 7, 1}), 8u);
  EXPECT_EQ(CountOf({1, 2, 9, 3}), 3u);
  EXPECT_EQ(ValueAt({1, 2, 9, 3}, 2), 8);
  EXPECT_EQ(CountOf({1, -4, 4, 4}), 3u);
  EXPECT_EQ(ValueAt({1, -4, 4, 4}, 1), 0);
  // One value needs no stride.
  EXPECT_EQ(CountOf({1, 5, 5, 0}), 1u);
  EXPECT_EQ(ValueAt({1, 5, 5, 0}, 0), 5);
}

TEST(CudnnKnobsTest, WhatIsNoRangeHasNoValues) {
  EXPECT_EQ(CountOf({1, 5, 4, 1}), 0u);
  EXPECT_EQ(CountOf({1, 0, 4, 0}), 0u);
  EXPECT_EQ(CountOf({1, 0, 4, -1}), 0u);
  EXPECT_THAT(SpreadValues({1, 5, 4, 1}, 8), IsEmpty());
}

TEST(CudnnKnobsTest, TheWidestRangeOverflowsNowhere) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const KnobRange widest{1, kLeast, kMost, 1};

  const std::vector<int64_t> values = SpreadValues(widest, 3);

  ASSERT_THAT(values, SizeIs(3));
  EXPECT_EQ(values.front(), kLeast);
  EXPECT_LE(std::abs(values[1]), 1);
  EXPECT_GE(values.back(), kMost - 1);
  EXPECT_THAT(VariantsOf(std::vector{widest, widest}, kSeed), SizeIs(kMostVariants));
}

TEST(CudnnKnobsTest, ALongRangeIsSpreadWithBothEnds) {
  EXPECT_THAT(SpreadValues({1, 0, 100, 1}, 5), ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(SpreadValues({1, 0, 3, 1}, 8), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(SpreadValues({1, 3, 9, 2}, 1), ElementsAre(3));
}

TEST(CudnnKnobsTest, AnEngineWithoutKnobsIsListedAsItComes) {
  EXPECT_THAT(VariantsOf({}, kSeed), ElementsAre(KnobValues{}));
  EXPECT_THAT(VariantsOf(std::vector{KnobRange{1, 5, 4, 1}}, kSeed), ElementsAre(KnobValues{}));
}

TEST(CudnnKnobsTest, FewCombinationsAreListedWholeBehindSingleChanges) {
  const std::vector<KnobRange> knobs = {{2, 0, 1, 1}, {9, 4, 6, 2}};

  EXPECT_THAT(
      VariantsOf(knobs, kSeed),
      ElementsAre(KnobValues{}, KnobValues{{2, 0}}, KnobValues{{2, 1}}, KnobValues{{9, 4}},
                  KnobValues{{9, 6}}, KnobValues{{2, 0}, {9, 4}}, KnobValues{{2, 0}, {9, 6}},
                  KnobValues{{2, 1}, {9, 4}}, KnobValues{{2, 1}, {9, 6}}));
}

// The lowest eight were all that was ever tried.
TEST(CudnnKnobsTest, EveryValueOfManyKnobsIsListed) {
  const std::vector<KnobRange> knobs = {{2, 0, 39, 1}, {14, 2, 10, 2}, {17, 1, 32, 1}};

  const std::vector<KnobValues> variants = VariantsOf(knobs, kSeed);

  for (const KnobRange& knob : knobs) {
    for (uint64_t i = 0; i < CountOf(knob); ++i) {
      EXPECT_THAT(variants, Contains(KnobValues{{knob.type, ValueAt(knob, i)}}));
    }
  }
  // The rest are combinations.
  EXPECT_THAT(variants, SizeIs(kMostVariants));
  EXPECT_GT(variants.back().size(), 1u);
}

TEST(CudnnKnobsTest, AListIsBoundedAndNamesNothingTwice) {
  std::vector<KnobRange> knobs;
  for (int64_t type = 0; type < 64; ++type) knobs.push_back({type, 0, 1'000'000, 1});

  const std::vector<KnobValues> variants = VariantsOf(knobs, kSeed);

  EXPECT_THAT(variants, SizeIs(kMostVariants));
  EXPECT_THAT(std::set<KnobValues>(variants.begin(), variants.end()), SizeIs(kMostVariants));
  EXPECT_EQ(variants.front(), KnobValues{});
}

TEST(CudnnKnobsTest, AListIsTheSameForASeedAndReachesEveryValueOverSeeds) {
  const std::vector<KnobRange> knobs = {{2, 0, 299, 1}, {3, 0, 9, 1}};
  EXPECT_EQ(VariantsOf(knobs, kSeed), VariantsOf(knobs, kSeed));

  std::set<int64_t> reached;
  for (uint64_t seed = 0; seed < 200; ++seed) reached.merge(ValuesOf(VariantsOf(knobs, seed), 2));

  EXPECT_THAT(reached, SizeIs(300));
}

}  // namespace
}  // namespace attune::cuda
