#include "attune/search/prior.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

// Config 0 is fair everywhere, 1 is the best of the first place and 2 that of the second.
const TimesElsewhere kFirst = {12, 10, 40, 400};
const TimesElsewhere kSecond = {1.3, 5, 1, std::nullopt};

TEST(PriorTest, TheBestOnAverageComesFirstThenWhatEachPlaceIsFastestWith) {
  EXPECT_EQ(FirstGuesses({kFirst, kSecond}, 3), (std::vector<uint64_t>{0, 2, 1}));
}

TEST(PriorTest, OnePlaceGivesItsFastest) {
  EXPECT_EQ(FirstGuesses({kFirst}, 2), (std::vector<uint64_t>{1, 0}));
}

TEST(PriorTest, NoMoreThanThereAreAreChosen) {
  EXPECT_EQ(FirstGuesses({kFirst}, 9).size(), 4u);
  EXPECT_TRUE(FirstGuesses({}, 3).empty());
}

}  // namespace
}  // namespace attune
