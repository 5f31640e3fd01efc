#include "attune/measure/race.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/measure/synthetic_timer.h"

namespace attune {
namespace {

constexpr Noise kNoNoise{.sigma = 0};

Failure Crash() { return {FailureKind::kCrashed, Phase::kMeasure, "Signal 11."}; }

TEST(RaceTest, EveryRoundHasTheDefaultAndItsOrderIsRandom) {
  FakeClock clock;
  SyntheticTimer timer({5e6, 5e6, 5e6, 5e6}, kNoNoise, 1, clock);
  const RaceOptions options{.max_rounds = 20, .finalists = 0};

  const RaceResult result = Race(timer, {4, 2}, options, clock);

  ASSERT_EQ(result.entries[2].measurement()->samples_ns.size(),
            8u);  // Dropped: equal is not faster.
  std::set<std::vector<size_t>> orders;
  const auto& requests = timer.requests();
  for (size_t begin = 8; begin + 4 <= requests.size(); begin += 4) {
    std::vector<size_t> order;
    for (size_t i = begin; i < begin + 4; ++i) order.push_back(requests[i].first);
    if (std::count(order.begin(), order.end(), 2u) == 1) orders.insert(order);
  }
  EXPECT_GE(orders.size(), 3u);
}

TEST(RaceTest, LaunchesFillABlockAndASlowCandidateGetsOneThatCountsFromTheFirstPass) {
  FakeClock clock;
  SyntheticTimer timer({1e5, 7e6}, kNoNoise, 1, clock);
  const RaceOptions options{.block_target_ns = 2'000'000, .max_rounds = 1, .crude_cuts = {}};

  const RaceResult result = Race(timer, {2, 1}, options, clock);

  EXPECT_EQ(result.entries[0].launches, 20);
  EXPECT_EQ(result.entries[0].measurement()->samples_ns.size(), 1u);
  EXPECT_EQ(result.entries[1].launches, 1);
  EXPECT_EQ(result.entries[1].measurement()->samples_ns.size(), 2u);
  EXPECT_NEAR(result.entries[0].speedup.ratio, 70, 1e-9);
}

TEST(RaceTest, ColdBlocksHaveNoMoreLaunchesThanDisplacingLeavesTimeFor) {
  FakeClock clock;
  SyntheticTimer timer({1e4, 1.1e4, 1e4}, kNoNoise, 1, clock);
  timer.DisplaceFor(20e6);
  const RaceOptions options{.cache = CacheState::kCold, .budget_ns = 500'000'000, .finalists = 0};

  const RaceResult result = Race(timer, {3, 0}, options, clock);

  for (const RaceEntry& entry : result.entries) EXPECT_EQ(entry.launches, 1);
  EXPECT_NEAR(result.entries[1].speedup.ratio, 1 / 1.1, 1e-6);
  // At most one round more than the time allows.
  EXPECT_LE(clock.NowNs(), 600'000'000);
}

TEST(RaceTest, ColdBlocksAreFilledWhereDisplacingIsQuick) {
  FakeClock clock;
  SyntheticTimer timer({1e4, 1e4}, kNoNoise, 1, clock);
  timer.DisplaceFor(9e4);

  const RaceResult result = Race(timer, {2, 0}, {.cache = CacheState::kCold}, clock);

  EXPECT_EQ(result.entries[1].launches, 20);
}

TEST(RaceTest, CandidateThatCannotCatchUpIsDroppedAfterThePassAndKeepsItsSample) {
  FakeClock clock;
  SyntheticTimer timer({1e6, 50e6, 1e6}, kNoNoise, 1, clock);

  const RaceResult result = Race(timer, {3, 0}, {}, clock);

  EXPECT_EQ(result.entries[1].dropped_at_round, 0);
  EXPECT_EQ(result.entries[1].measurement()->samples_ns, (std::vector<double>{50e6}));
  EXPECT_NEAR(result.entries[1].speedup.ratio, 0.02, 1e-9);
}

TEST(RaceTest, OneSpikeDoesNotEndAGoodCandidate) {
  FakeClock clock;
  SyntheticTimer timer({4e6, 2e6, 3e6}, {.sigma = 0.01, .spike_probability = 0.15}, 5, clock);
  const RaceOptions options{.max_rounds = 40, .finalists = 1};

  const RaceResult result = Race(timer, {3, 0}, options, clock);

  EXPECT_EQ(result.entries[1].dropped_at_round, std::nullopt);
  EXPECT_GT(result.entries[1].speedup.ratio, 1.8);
}

TEST(RaceTest, SlowerCandidatesAreDroppedAndTheFastestSurvives) {
  FakeClock clock;
  std::vector<double> times_ns(30, 3e6);
  for (size_t i = 0; i < times_ns.size(); ++i) times_ns[i] *= 1 + 0.03 * static_cast<double>(i);
  SyntheticTimer timer(times_ns, {.sigma = 0.02, .spike_probability = 0.01}, 3, clock);
  const RaceOptions options{.budget_ns = 60'000'000'000};

  const RaceResult result = Race(timer, {30, 15}, options, clock);

  EXPECT_EQ(result.reason, StopReason::kDecided);
  EXPECT_EQ(result.entries[0].dropped_at_round, std::nullopt);
  for (size_t i = 16; i < 30; ++i) EXPECT_TRUE(result.entries[i].dropped_at_round.has_value()) << i;
  EXPECT_LT(timer.requests().size(), 30u * 25u);
}

TEST(RaceTest, FailedCandidateLeavesTheRaceAndNobodyElseDoes) {
  FakeClock clock;
  SyntheticTimer timer({3e6, 2e6, 1e6}, kNoNoise, 1, clock);
  int blocks = 0;
  timer.InterceptWith([&](size_t index) -> std::optional<Failure> {
    if (index == 2 && ++blocks > 4) return Failure{FailureKind::kRunFailed, Phase::kMeasure, "x"};
    return std::nullopt;
  });

  const RaceResult result = Race(timer, {3, 0}, {}, clock);

  ASSERT_NE(result.entries[2].failure(), nullptr);
  EXPECT_EQ(result.entries[2].failure()->kind, FailureKind::kRunFailed);
  EXPECT_NE(result.entries[1].measurement(), nullptr);
  EXPECT_EQ(result.restarts, 0);
}

TEST(RaceTest, RestartDiscardsEverySampleAndGoesOnWithoutTheCulprit) {
  FakeClock clock;
  SyntheticTimer timer({3e6, 2e6, 2e6}, kNoNoise, 1, clock);
  int blocks = 0;
  timer.InterceptWith([&](size_t index) -> std::optional<Failure> {
    if (index != 2 || ++blocks < 4) return std::nullopt;
    timer.Restart();
    return Crash();
  });
  const RaceOptions options{.max_rounds = 6, .finalists = 0};

  const RaceResult result = Race(timer, {3, 0}, options, clock);

  EXPECT_EQ(result.restarts, 1);
  EXPECT_EQ(result.entries[2].failure()->kind, FailureKind::kCrashed);
  EXPECT_EQ(result.rounds, 6);
  EXPECT_EQ(result.entries[0].measurement()->samples_ns.size(), 6u);
  EXPECT_EQ(result.entries[1].measurement()->samples_ns.size(), 6u);
}

TEST(RaceTest, ProcessThatNeverSurvivesEndsTheRace) {
  FakeClock clock;
  SyntheticTimer timer({3e6, 2e6, 2e6}, kNoNoise, 1, clock);
  timer.InterceptWith([&](size_t) -> std::optional<Failure> {
    timer.Restart();
    return std::nullopt;
  });

  const RaceResult result = Race(timer, {3, 0}, {}, clock);

  EXPECT_EQ(result.reason, StopReason::kTooManyRestarts);
}

TEST(RaceTest, FailureOfTheDefaultEndsTheRace) {
  FakeClock clock;
  SyntheticTimer timer({3e6, 2e6}, kNoNoise, 1, clock);
  timer.InterceptWith(
      [&](size_t index) { return index == 0 ? std::optional(Crash()) : std::nullopt; });

  const RaceResult result = Race(timer, {2, 0}, {}, clock);

  EXPECT_EQ(result.reason, StopReason::kDefaultFailed);
  EXPECT_EQ(result.entries[0].failure()->kind, FailureKind::kCrashed);
  EXPECT_EQ(timer.requests().size(), 1u);
}

TEST(RaceTest, BudgetEndsThePassEarlyAndTheDefaultIsTimedFirst) {
  FakeClock clock;
  SyntheticTimer timer(std::vector<double>(10, 1e9), kNoNoise, 1, clock);
  const RaceOptions options{.budget_ns = 3'000'000'000};

  const RaceResult result = Race(timer, {10, 7}, options, clock);

  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(timer.requests().front().first, 7u);
  EXPECT_NE(result.entries[7].measurement(), nullptr);
  const auto untimed =
      std::count_if(result.entries.begin(), result.entries.end(),
                    [](const RaceEntry& entry) { return entry.outcome.index() == 0; });
  EXPECT_EQ(untimed, 7);
  EXPECT_LE(result.elapsed_ns, options.budget_ns);
}

TEST(RaceTest, SampleCountStaysBelowTheCapOfAMeasurement) {
  FakeClock clock;
  SyntheticTimer timer({3e6, 3e6}, {.sigma = 1.0}, 1, clock);
  const RaceOptions options{.max_rounds = 1'000'000,
                            .budget_ns = int64_t{1} << 60,
                            .margin = 0,
                            .finalists = 0,
                            .crude_cuts = {}};

  const RaceResult result = Race(timer, {2, 0}, options, clock);

  EXPECT_LE(result.entries[0].measurement()->samples_ns.size(), Measurement::kMaxSamples);
}

TEST(RaceTest, ExtraCriterionOfTheCallerIsObeyed) {
  class StopAfterTwo final : public StoppingCriterion {
   public:
    std::optional<StopReason> Check(const RaceState& state) const override {
      return state.round == 2 ? std::optional(StopReason::kCancelled) : std::nullopt;
    }
  };
  const StopAfterTwo criterion;
  FakeClock clock;
  SyntheticTimer timer({3e6, 3e6}, kNoNoise, 1, clock);
  RaceOptions options;
  options.extra_criteria = {&criterion};
  std::vector<int> seen;

  const RaceResult result = Race(timer, {2, 0}, options, clock,
                                 [&](const RaceState& state) { seen.push_back(state.round); });

  EXPECT_EQ(result.reason, StopReason::kCancelled);
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2}));
}

TEST(RaceTest, EqualSeedsGiveEqualOrders) {
  const auto order = [](uint64_t seed) {
    FakeClock clock;
    SyntheticTimer timer({3e6, 3e6, 3e6}, kNoNoise, 1, clock);
    RaceOptions options{.max_rounds = 5, .finalists = 0};
    options.seed = seed;
    (void)Race(timer, {3, 0}, options, clock);
    std::vector<size_t> indices;
    for (const auto& [index, request] : timer.requests()) indices.push_back(index);
    return indices;
  };

  EXPECT_EQ(order(4), order(4));
  EXPECT_NE(order(4), order(5));
}

TEST(RaceTest, NoCandidateIsLaunchedMoreOftenThanItsLimit) {
  for (const int64_t limit : {1, 5, 24, 100}) {
    FakeClock clock;
    SyntheticTimer timer({1e3, 1.01e3, 0.99e3}, {}, 1, clock);
    const RaceOptions options{.limits = {.max_launches = limit}, .finalists = 0};

    const RaceResult result = Race(timer, {3, 0}, options, clock);

    for (const RaceEntry& entry : result.entries) {
      const auto samples = static_cast<int64_t>(entry.measurement()->samples_ns.size());
      EXPECT_LE(samples * entry.launches, limit);
      EXPECT_GE(samples * entry.launches, limit / 2);
    }
    EXPECT_EQ(result.reason, StopReason::kCandidateLimit) << limit;
  }
}

TEST(RaceTest, NoCandidateIsTimedForLongerThanItsLimit) {
  constexpr int64_t kLimitNs = 30'000'000;
  FakeClock clock;
  SyntheticTimer timer({1e6, 1.01e6, 0.99e6}, kNoNoise, 1, clock);
  const RaceOptions options{.limits = {.max_time_ns = kLimitNs}, .finalists = 0};

  const RaceResult result = Race(timer, {3, 0}, options, clock);

  for (const RaceEntry& entry : result.entries) {
    const auto samples = static_cast<double>(entry.measurement()->samples_ns.size());
    const double spent_ns = samples * entry.launches * entry.measurement()->median_ns;
    EXPECT_LE(spent_ns, kLimitNs);
    EXPECT_GE(spent_ns, kLimitNs / 2);
  }
}

TEST(RaceTest, ALaunchThatIsLongerThanTheLimitIsTimedOnce) {
  FakeClock clock;
  SyntheticTimer timer({90e6, 80e6}, kNoNoise, 1, clock);
  const RaceOptions options{.limits = {.max_time_ns = 30'000'000}, .finalists = 0};

  const RaceResult result = Race(timer, {2, 0}, options, clock);

  for (const RaceEntry& entry : result.entries) {
    EXPECT_EQ(entry.measurement()->samples_ns.size(), 1u);
  }
}

}  // namespace
}  // namespace attune
