#include "attune/tuner/time_plan.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/decision.h"

namespace attune {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr size_t kMaxFinalists = 3;

std::vector<TimingCost> EqualCosts(size_t count, double launch_ns) {
  return std::vector<TimingCost>(count, EstimateCost(launch_ns, 0));
}

TEST(TimePlanTest, ShortLaunchesFillABlockAndLongOnesAreWarmedUpOnce) {
  const TimingCost quick = EstimateCost(1e5, 7);
  const TimingCost slow = EstimateCost(40e6, 0);

  EXPECT_EQ(LaunchesPerBlock(1e5), 20);
  EXPECT_EQ(quick.load_ns, 7);
  EXPECT_EQ(quick.block_ns, 2'100'000);
  EXPECT_EQ(LaunchesPerBlock(40e6), 1);
  EXPECT_EQ(slow.first_block_ns, 80'000'000);
  EXPECT_EQ(slow.block_ns, 40'000'000);
}

TEST(TimePlanTest, QuickLaunchesKeepEveryEntrantAndTheWholeShareOfTheRace) {
  const auto costs = EqualCosts(48, 1e5);

  const TimePlan plan = PlanTime(costs, kMaxFinalists, kSecondNs, 500'000'000);

  EXPECT_TRUE(plan.has_race);
  EXPECT_EQ(plan.entrants, 47u);
  EXPECT_EQ(plan.race_ns, 500'000'000);
  EXPECT_EQ(AffordableFinalists(costs, kMaxFinalists, 400'000'000), kMaxFinalists);
}

TEST(TimePlanTest, ADecisionTakesLittleOfALongSearchAndNeverMoreThanHalfUnlessItMust) {
  for (double launch_ns = 1e5; launch_ns <= 1e9; launch_ns *= 1.3) {
    const TimingCost baseline = EstimateCost(2 * launch_ns, 0);
    const TimingCost best = EstimateCost(launch_ns, 0);
    const TimingCost two[] = {baseline, best};
    const TimingCost four[] = {baseline, best, best, best};
    const int64_t first_look_ns = FinalNs(two, 1, kFirstLookRounds);

    const int64_t of_much_ns = DecisionNs(baseline, best, 1000 * kSecondNs);
    const int64_t of_little_ns = DecisionNs(baseline, best, kSecondNs);

    EXPECT_GT(of_much_ns, FinalNs(four, 3, kFirstLookRounds)) << launch_ns;
    EXPECT_LE(of_much_ns, 400 * kSecondNs) << launch_ns;
    EXPECT_LE(of_little_ns, std::max(kSecondNs / 2, first_look_ns)) << launch_ns;
    EXPECT_LE(of_little_ns, of_much_ns) << launch_ns;
  }
  const TimingCost quick = EstimateCost(1e5, 0);
  EXPECT_LT(DecisionNs(quick, quick, 20 * kSecondNs), kSecondNs);
}

TEST(TimePlanTest, FirstLookFitsBehindTheRaceHoweverLongTheLaunches) {
  for (double launch_ns = 1e5; launch_ns <= 40e6; launch_ns *= 1.3) {
    const auto costs = EqualCosts(30, launch_ns);
    const int64_t available_ns = 3 * kSecondNs / 2;

    const TimePlan plan = PlanTime(costs, kMaxFinalists, available_ns, 600'000'000);

    const int64_t left_ns = available_ns - plan.race_ns;
    EXPECT_GE(left_ns, FinalNs(costs, 1, kFirstLookRounds)) << launch_ns;
    EXPECT_GE(plan.entrants, 1u) << launch_ns;
  }
}

TEST(TimePlanTest, TheFinalGetsEnoughRoundsOutOfHalfOfTheTime) {
  const auto costs = EqualCosts(20, 1e6);
  const auto final_ns = [&](int64_t available_ns) {
    return available_ns - PlanTime(costs, kMaxFinalists, available_ns, available_ns).race_ns;
  };

  EXPECT_EQ(final_ns(10 * kSecondNs), FinalNs(costs, kMaxFinalists, 48));
  const int64_t of_little_ns = final_ns(kSecondNs / 2);
  EXPECT_LE(of_little_ns, kSecondNs / 4);
  EXPECT_GT(of_little_ns, FinalNs(costs, kMaxFinalists, 16));
}

TEST(TimePlanTest, LongerLaunchesMeanFewerFinalistsAndNeverNone) {
  size_t last = kMaxFinalists;
  for (double launch_ns = 1e6; launch_ns <= 1e10; launch_ns *= 1.5) {
    const size_t count = AffordableFinalists(EqualCosts(9, launch_ns), kMaxFinalists, kSecondNs);
    EXPECT_LE(count, last) << launch_ns;
    EXPECT_GE(count, 1u) << launch_ns;
    last = count;
  }
  EXPECT_EQ(last, 1u);
}

TEST(TimePlanTest, RaceThatWouldSelectNobodyIsNotRun) {
  const auto costs = EqualCosts(12, 1e9);

  const TimePlan plan = PlanTime(costs, kMaxFinalists, kSecondNs, 600'000'000);

  EXPECT_FALSE(plan.has_race);
  EXPECT_EQ(plan.entrants, 1u);
}

TEST(TimePlanTest, LoadingIsPaidForOutOfTheSharesOfRaceAndFinal) {
  auto costs = EqualCosts(10, 1e6);
  const TimePlan before = PlanTime(costs, kMaxFinalists, 4 * kSecondNs, 4 * kSecondNs);
  for (TimingCost& cost : costs) cost.load_ns = 20'000'000;

  const TimePlan after = PlanTime(costs, kMaxFinalists, 4 * kSecondNs, 4 * kSecondNs);

  EXPECT_EQ(before.entrants, 9u);
  EXPECT_EQ(after.entrants, 9u);
  // Ten candidates in the race, four in the final.
  EXPECT_EQ(before.race_ns - after.race_ns, 14 * 20'000'000);
}

TEST(TimePlanTest, BaselineAloneNeedsNobodyBesideIt) {
  const TimePlan plan = PlanTime(EqualCosts(1, 1e6), kMaxFinalists, kSecondNs, kSecondNs);

  EXPECT_TRUE(plan.has_race);
  EXPECT_EQ(plan.entrants, 0u);
  EXPECT_EQ(AffordableFinalists(EqualCosts(1, 1e6), kMaxFinalists, 0), 0u);
}

}  // namespace
}  // namespace attune
