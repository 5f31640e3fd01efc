#include "attune/search/prior.h"

#include <gtest/gtest.h>

#include "attune/space/config_space.h"

namespace attune {
namespace {

// Two variants (indices below 8, and from there on) of eight sizes.
ConfigSpace Variants() {
  return *ConfigSpace::Create({{"variant", {0, 1}}, {"size", {1, 2, 3, 4, 5, 6, 7, 8}}}, {});
}

// Everything was tried: `first` ns and more for each size of the first variant, `second` of the
// other.
TimesElsewhere Place(double first, double second) {
  TimesElsewhere times;
  for (uint64_t index = 0; index < 16; ++index) {
    const double least = index < 8 ? first : second;
    times.push_back({index, least * (1 + 0.01 * static_cast<double>(index % 8))});
  }
  return times;
}

std::vector<uint64_t> GuessesUntold(Prior& prior) {
  std::vector<uint64_t> guesses;
  while (!prior.Done()) guesses.push_back(prior.Next());
  return guesses;
}

TEST(PriorTest, TheFirstGuessIsTheBestOnTheGeometricMeanOfTheShares) {
  const ConfigSpace space = Variants();
  const ConfigDigits digits(space);
  // In units of a second and of a nanosecond: config 3 reaches 80 and 90 %.
  const std::vector<TimesElsewhere> elsewhere = {{{1, 1e9}, {2, 3e9}, {3, 1.25e9}},
                                                 {{1, 5.0}, {2, 0.9}, {3, 1.0}}};
  Prior prior(digits, elsewhere);

  EXPECT_EQ(prior.Next(), 3u);
}

TEST(PriorTest, AGuessThatDisappointsLeadsToTheOtherVariant) {
  const ConfigSpace space = Variants();
  const ConfigDigits digits(space);
  Prior prior(digits, {Place(100, 103), Place(100, 104)});
  ASSERT_EQ(prior.Next(), 0u);
  prior.Tell(0, 1000);

  EXPECT_GE(prior.Next(), 8u);
}

TEST(PriorTest, AGuessThatFailedLeadsToTheOtherVariant) {
  const ConfigSpace space = Variants();
  const ConfigDigits digits(space);
  Prior prior(digits, {Place(100, 103)});
  ASSERT_EQ(prior.Next(), 0u);
  prior.Tell(0, {});

  EXPECT_GE(prior.Next(), 8u);
}

TEST(PriorTest, WhatIsTriedAnywayIsNoGuessAndCounts) {
  const ConfigSpace space = Variants();
  const ConfigDigits digits(space);
  Prior prior(digits, {Place(100, 103)});
  prior.WillTry(0);
  prior.Tell(0, 1000);

  EXPECT_GE(prior.Next(), 8u);
  EXPECT_EQ(GuessesUntold(prior).size(), Prior::kGuesses - 1);
}

TEST(PriorTest, GuessesDifferAndAreNoMoreThanWorkedElsewhere) {
  const ConfigSpace space = Variants();
  const ConfigDigits digits(space);
  Prior two(digits, {{{4, 10.0}, {5, {}}, {6, 11.0}}});
  Prior all(digits, {Place(100, 100)});

  EXPECT_EQ(GuessesUntold(two), (std::vector<uint64_t>{4, 6}));
  EXPECT_EQ(GuessesUntold(all).size(), Prior::kGuesses);
}

TEST(PriorTest, NobodyAndNothingThatWorkedGiveNoGuesses) {
  const ConfigSpace space = Variants();
  const ConfigDigits digits(space);

  EXPECT_TRUE(Prior(digits, {}).Done());
  EXPECT_TRUE(Prior(digits, {{{1, {}}, {2, {}}}, {}}).Done());
}

TEST(RanksElsewhereTest, FromTheWorstToTheBestOnTheMeanOfPlaces) {
  const auto ranks = RanksElsewhere({{{4, 10.0}, {5, {}}, {6, 11.0}}, {{4, 5e9}, {7, 9e9}}});

  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(ranks.at(4), 255);
  EXPECT_EQ(ranks.at(5), 0);
  EXPECT_GT(ranks.at(6), ranks.at(7));
}

TEST(RanksElsewhereTest, PlacesWhereNothingWorkedTellNothing) {
  EXPECT_TRUE(RanksElsewhere({{{1, {}}}, {}}).empty());
  EXPECT_EQ(RanksElsewhere({{{1, 3.0}}}).at(1), 255);
}

TEST(PriorTest, WaitsForWhatIsTriedAndNotToldAsLongAsItHasGuesses) {
  const ConfigSpace space = *ConfigSpace::Create({{"p", {int64_t{0}, int64_t{1}, int64_t{2}}}}, {});
  Prior prior(ConfigDigits(space), {{{0, 3.0}, {1, 2.0}}});

  EXPECT_FALSE(prior.Waits());
  prior.WillTry(2);  // Unknown in the other device contexts.
  EXPECT_FALSE(prior.Waits());
  prior.WillTry(0);
  EXPECT_TRUE(prior.Waits());
  prior.Tell(0, 3.0);
  EXPECT_FALSE(prior.Waits());
  EXPECT_EQ(prior.Next(), 1u);
  EXPECT_TRUE(prior.Done());
  EXPECT_FALSE(prior.Waits());
}

TEST(PriorTest, OneConfigWithoutAnyParameter) {
  const ConfigSpace space;
  const ConfigDigits digits(space);
  Prior prior(digits, {{{0, 5.0}}});

  EXPECT_EQ(GuessesUntold(prior), (std::vector<uint64_t>{0}));
}

}  // namespace
}  // namespace attune
