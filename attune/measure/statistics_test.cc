#include "attune/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

std::vector<double> OneTo(int n) {
  std::vector<double> samples(static_cast<size_t>(n));
  std::iota(samples.begin(), samples.end(), 1.0);
  return samples;
}

TEST(MedianTest, IsTheMiddleValueOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(Median(std::vector<double>{5, 1, 3}), 3);
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{7}), 7);
}

TEST(MedianTest, OneSpikeInFiveDoesNotMoveIt) {
  EXPECT_EQ(Median(std::vector<double>{10, 11, 12, 13, 1e9}), 12);
}

// Ranks from the table of the sign test: n = 10, 95 %: 2nd and 9th value, coverage 0.9785; n = 20,
// 95 %: 6th and 15th, 0.9586; n = 100, 99 %: 37th and 64th, 0.9933.
TEST(MedianIntervalTest, AgreesWithPublishedRanks) {
  const Interval ten = MedianInterval(OneTo(10), 0.95);
  const Interval twenty = MedianInterval(OneTo(20), 0.95);
  const Interval hundred = MedianInterval(OneTo(100), 0.99);

  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  EXPECT_NEAR(ten.confidence, 0.978516, 1e-6);
  EXPECT_EQ(twenty.low, 6);
  EXPECT_EQ(twenty.high, 15);
  EXPECT_NEAR(twenty.confidence, 0.958611, 1e-6);
  EXPECT_EQ(hundred.low, 37);
  EXPECT_EQ(hundred.high, 64);
  EXPECT_NEAR(hundred.confidence, 0.993288, 1e-4);
}

TEST(MedianIntervalTest, TooFewSamplesGiveTheRangeAndSayWhatItIsWorth) {
  const Interval three = MedianInterval(OneTo(3), 0.99);
  const Interval one = MedianInterval(OneTo(1), 0.99);

  EXPECT_EQ(three, (Interval{1, 3, 0.75}));
  EXPECT_EQ(one, (Interval{1, 1, 0}));
}

TEST(MedianIntervalTest, EightSamplesAreTheFewestForNinetyNinePercent) {
  EXPECT_EQ(MinSamplesFor(0.99), 8u);
  EXPECT_EQ(MinSamplesFor(0.95), 6u);
}

TEST(MedianIntervalTest, ThousandsOfSamplesNeitherUnderflowNorWiden) {
  const Interval interval = MedianInterval(OneTo(4096), 0.99);

  EXPECT_GE(interval.confidence, 0.99);
  EXPECT_LT(interval.confidence, 0.992);
  // The normal approximation: n / 2 -+ 2.576 sqrt(n) / 2.
  EXPECT_NEAR(interval.low, 2048 - 82, 3);
  EXPECT_NEAR(interval.high, 2048 + 83, 3);
}

TEST(MedianIntervalTest, CoversTheMedianOfSkewedNoiseAsOftenAsItSays) {
  Random random(1);
  int covered = 0;
  constexpr int kRepeats = 4000;

  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<double> samples(15);
    for (double& sample : samples) sample = -std::log(1 - random.Uniform());
    const Interval interval = MedianInterval(samples, 0.95);
    if (interval.low <= std::log(2.0) && std::log(2.0) <= interval.high) ++covered;
  }

  // Coverage is 0.9648 for n = 15; three standard deviations of 4000 repeats are 0.0087.
  EXPECT_NEAR(static_cast<double>(covered) / kRepeats, 0.9648, 0.0087);
}

TEST(PairedRatioTest, DriftCancelsInsidePairs) {
  std::vector<double> baseline, candidate;
  for (int round = 0; round < 20; ++round) {
    const double drift = 1 + round;  // Twenty times slower at the end.
    baseline.push_back(120 * drift);
    candidate.push_back(100 * drift);
  }

  const RatioEstimate estimate = PairedRatio(baseline, candidate, 0.99);

  EXPECT_NEAR(estimate.ratio, 1.2, 1e-12);
  EXPECT_NEAR(estimate.low, 1.2, 1e-12);
  EXPECT_NEAR(estimate.high, 1.2, 1e-12);
  EXPECT_GE(estimate.confidence, 0.99);
}

TEST(PairedRatioTest, SwappingTheTwoGivesTheReciprocal) {
  Random random(2);
  std::vector<double> a(12), b(12);
  for (double& value : a) value = 1 + random.Uniform();
  for (double& value : b) value = 1 + random.Uniform();

  const RatioEstimate forward = PairedRatio(a, b, 0.95);
  const RatioEstimate backward = PairedRatio(b, a, 0.95);

  EXPECT_NEAR(forward.ratio * backward.ratio, 1, 1e-12);
  EXPECT_NEAR(forward.low * backward.high, 1, 1e-12);
}

TEST(PairedRatioTest, SamplesWithoutAPartnerDoNotCount) {
  const RatioEstimate estimate =
      PairedRatio(std::vector<double>{2, 2, 2, 50, 50}, std::vector<double>{1, 1, 1}, 0.5);

  EXPECT_NEAR(estimate.ratio, 2, 1e-12);
}

TEST(MeasurementOfTest, KeepsTheOrderOfSamplesAndCapsTheirNumber) {
  const Measurement small = MeasurementOf({3, 1, 2}, CacheState::kCold, 0.99);
  const Measurement large =
      MeasurementOf(OneTo(Measurement::kMaxSamples + 10), CacheState::kWarm, 0.99);

  EXPECT_EQ(small.samples_ns, (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(small.median_ns, 2);
  EXPECT_EQ(small.low_ns, 1);
  EXPECT_EQ(small.high_ns, 3);
  EXPECT_EQ(small.confidence, 0.75);
  EXPECT_EQ(small.cache, CacheState::kCold);
  EXPECT_EQ(large.samples_ns.size(), Measurement::kMaxSamples);
}

}  // namespace
}  // namespace attune
