#include "attune/measure/decision.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/measure/race.h"
#include "attune/measure/synthetic_timer.h"

namespace attune {
namespace {

// Noise of a shared cloud machine: 3 % per block, a spike of 2 to 10 times in every fiftieth block,
// and the whole machine slower and faster by 10 % three times per second.
constexpr Noise kCloudNoise{
    .sigma = 0.03, .spike_probability = 0.02, .drift_amplitude = 0.10, .drift_period_ns = 0.3e9};

Measurement Constant(double time_ns, size_t samples) {
  return MeasurementOf(std::vector<double>(samples, time_ns), CacheState::kWarm, 0.99);
}

// Screening and final, as the tuner runs them: the winner's index, or nothing.
std::optional<size_t> TuneOnce(const std::vector<double>& times_ns, const Noise& noise,
                               uint64_t seed) {
  FakeClock clock;
  SyntheticTimer timer(times_ns, noise, seed, clock);
  const Entrants entrants{times_ns.size(), 0};
  RaceOptions race_options;
  race_options.seed = seed;
  const RaceResult race = Race(timer, entrants, race_options, clock);
  const std::vector<Finalist> finalists =
      SelectFinalists(race, entrants, race_options.margin, race_options.finalists);
  FinalOptions final_options;
  final_options.seed = seed + 1;
  final_options.budget_ns = 2'000'000'000;
  return RunFinal(timer, {0, race.entries[0].launches}, finalists, final_options, clock).winner;
}

int CountWins(const std::vector<double>& times_ns, const Noise& noise, int repeats) {
  int wins = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    if (TuneOnce(times_ns, noise, 1000 + 17 * static_cast<uint64_t>(repeat))) ++wins;
  }
  // Shown in the XML output, so that a regression is visible before it reaches the limit.
  testing::Test::RecordProperty("wins", wins);
  return wins;
}

TEST(DecideTest, DefaultStaysUnlessBeatenByTheMargin) {
  const std::vector<Measurement> faster = {Constant(98.5, 20)};
  const std::vector<Measurement> much_faster = {Constant(97, 20)};

  EXPECT_EQ(Decide(Constant(100, 20), faster, 0.02, 0.99).winner, std::nullopt);
  EXPECT_EQ(Decide(Constant(100, 20), much_faster, 0.02, 0.99).winner, 0u);
}

TEST(DecideTest, HighestEstimateAmongThoseThatBeatTheDefaultWins) {
  const std::vector<Measurement> finalists = {Constant(90, 20), Constant(80, 20), Constant(85, 20)};

  const Decision decision = Decide(Constant(100, 20), finalists, 0.02, 0.99);

  EXPECT_EQ(decision.winner, 1u);
  EXPECT_NEAR(decision.speedup.ratio, 1.25, 1e-12);
  EXPECT_TRUE(decision.settled);
}

TEST(DecideTest, TooFewSamplesForTheConfidenceProveNothingButGrossDifferences) {
  const std::vector<Measurement> ten_percent = {Constant(90, 5)};
  const std::vector<Measurement> half = {Constant(50, 3)};
  const std::vector<Measurement> half_of_two = {Constant(50, 2)};

  EXPECT_EQ(Decide(Constant(100, 5), ten_percent, 0.02, 0.99).winner, std::nullopt);
  EXPECT_EQ(Decide(Constant(100, 3), half, 0.02, 0.99).winner, 0u);
  EXPECT_EQ(Decide(Constant(100, 2), half_of_two, 0.02, 0.99).winner, std::nullopt);
}

TEST(DecideTest, DoubtIsHowMuchFasterAnotherFinalistMayBe) {
  std::vector<double> scattered_ns(20, 100);
  for (size_t i = 0; i < scattered_ns.size(); i += 2) scattered_ns[i] = 40;
  const Measurement scattered = MeasurementOf(scattered_ns, CacheState::kWarm, 0.99);
  const std::vector<Measurement> two = {Constant(50, 20), scattered};
  const std::vector<Measurement> one = {Constant(50, 20)};
  const std::vector<Measurement> gross = {Constant(50, 4)};

  EXPECT_NEAR(Decide(Constant(100, 20), two, 0.02, 0.99).doubt, 1.25, 1e-12);
  EXPECT_EQ(Decide(Constant(100, 20), one, 0.02, 0.99).doubt, 0);
  EXPECT_EQ(Decide(Constant(100, 20), {}, 0.02, 0.99).doubt, 0);
  EXPECT_EQ(Decide(Constant(100, 20), gross, 0.02, 0.99).winner, 0u);
  EXPECT_EQ(Decide(Constant(100, 20), gross, 0.02, 0.99).doubt,
            std::numeric_limits<double>::infinity());
}

TEST(DecideTest, NoFinalistsMeansThatTheDefaultStays) {
  const Decision decision = Decide(Constant(100, 20), {}, 0.02, 0.99);

  EXPECT_EQ(decision.winner, std::nullopt);
  EXPECT_TRUE(decision.settled);
}

TEST(SelectFinalistsTest, TakesTheBestSurvivorsAndNeverTheDefault) {
  RaceResult race;
  race.entries.resize(5);
  const double ratios[] = {1.0, 1.1, 1.3, 1.2, 0.5};
  for (size_t i = 0; i < 5; ++i) {
    race.entries[i].outcome = Constant(100 / ratios[i], 10);
    race.entries[i].launches = static_cast<int>(i) + 1;
    race.entries[i].speedup = {ratios[i], ratios[i] * 0.99, ratios[i] * 1.01, 0.99};
  }
  race.entries[3].outcome = Failure{};

  const std::vector<Finalist> finalists = SelectFinalists(race, {5, 0}, 0.02, 2);

  EXPECT_EQ(finalists, (std::vector<Finalist>{{2, 3}, {1, 2}}));
}

TEST(RunFinalTest, FreshSamplesOverrideALuckyScreening) {
  FakeClock clock;
  SyntheticTimer timer({2e6, 2e6}, {.sigma = 0.02}, 1, clock);
  const std::vector<Finalist> lucky = {{1, 1}};

  const FinalResult result = RunFinal(timer, {0, 1}, lucky, {}, clock);

  EXPECT_EQ(result.winner, std::nullopt);
  EXPECT_EQ(result.reason, StopReason::kDecided);
  EXPECT_NEAR(result.speedup.ratio, 1, 0.02);
}

TEST(RunFinalTest, CrashOfAFinalistRestartsTheRoundsWithoutIt) {
  FakeClock clock;
  SyntheticTimer timer({4e6, 2e6, 1e6}, {.sigma = 0.01}, 1, clock);
  int blocks = 0;
  timer.InterceptWith([&](size_t index) -> std::optional<Failure> {
    if (index != 2 || ++blocks < 5) return std::nullopt;
    timer.Restart();
    return Failure{FailureKind::kCrashed, Phase::kMeasure, "Signal 6."};
  });
  const std::vector<Finalist> finalists = {{2, 1}, {1, 1}};

  const FinalResult result = RunFinal(timer, {0, 1}, finalists, {}, clock);

  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.restarts, 1);
  EXPECT_EQ(result.entries[0].failure()->kind, FailureKind::kCrashed);
  EXPECT_EQ(result.entries[1].measurement()->samples_ns.size(), 12u);
}

TEST(RunFinalTest, ThreeRoundsOfSlowLaunchesShowAGrossDifferenceEvenOverBudget) {
  FakeClock clock;
  SyntheticTimer timer({3e9, 1e9}, {.sigma = 0.02}, 1, clock);
  const std::vector<Finalist> finalists = {{1, 1}};

  const FinalResult result = RunFinal(timer, {0, 1}, finalists, {}, clock);

  EXPECT_EQ(result.reason, StopReason::kBudget);
  EXPECT_EQ(result.rounds, 3);
  EXPECT_EQ(result.winner, 1u);
}

TEST(RunFinalTest, DefaultAloneIsStillMeasured) {
  FakeClock clock;
  SyntheticTimer timer({2e6}, {.sigma = 0.02}, 1, clock);

  const FinalResult result = RunFinal(timer, {0, 1}, {}, {}, clock);

  EXPECT_EQ(result.reason, StopReason::kOnlyDefaultLeft);
  EXPECT_EQ(result.default_entry.measurement()->samples_ns.size(), 12u);
}

// The promises of this module, on synthetic noise.

TEST(TwoStageSimulationTest, FalseWinnerIsRarerThanOnePercentOfTwoEqualCandidates) {
  constexpr int kRepeats = 3000;

  EXPECT_LT(CountWins({2e6, 2e6}, kCloudNoise, kRepeats), kRepeats / 100);
}

TEST(TwoStageSimulationTest, FalseWinnerIsRarerThanOnePercentOfAHundredEqualCandidates) {
  constexpr int kRepeats = 400;

  EXPECT_LT(CountWins(std::vector<double>(100, 2e6), kCloudNoise, kRepeats), kRepeats / 100);
}

TEST(TwoStageSimulationTest, MarginOfZeroStillKeepsFalseWinnersBelowOnePercent) {
  constexpr int kRepeats = 1500;
  int wins = 0;

  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    FakeClock clock;
    SyntheticTimer timer({2e6, 2e6, 2e6, 2e6}, kCloudNoise, static_cast<uint64_t>(repeat), clock);
    const std::vector<Finalist> finalists = {{1, 1}, {2, 1}, {3, 1}};
    const FinalOptions options{.seed = static_cast<uint64_t>(repeat), .margin = 0};
    if (RunFinal(timer, {0, 1}, finalists, options, clock).winner) ++wins;
  }

  testing::Test::RecordProperty("wins", wins);
  EXPECT_LT(wins, kRepeats / 100);
}

TEST(TwoStageSimulationTest, NoiseThatSwampsTheMarginDoesNotMakeFalseWinners) {
  constexpr int kRepeats = 500;
  const Noise wild{.sigma = 0.3, .spike_probability = 0.1, .drift_amplitude = 0.3};

  EXPECT_LT(CountWins({2e6, 2e6, 2e6, 2e6, 2e6}, wild, kRepeats), kRepeats / 100);
}

TEST(TwoStageSimulationTest, FivePercentFasterIsFoundNineteenTimesOutOfTwenty) {
  constexpr int kRepeats = 500;

  EXPECT_GE(CountWins({2.1e6, 2e6}, kCloudNoise, kRepeats), kRepeats * 95 / 100);
}

TEST(TwoStageSimulationTest, FivePercentFasterIsFoundAmongTwentyOthers) {
  constexpr int kRepeats = 400;
  std::vector<double> times_ns(21, 2.1e6);
  times_ns[13] = 2e6;
  int found = 0;

  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    if (TuneOnce(times_ns, kCloudNoise, 99 + static_cast<uint64_t>(repeat)) == 13u) ++found;
  }

  testing::Test::RecordProperty("wins", found);
  EXPECT_GE(found, kRepeats * 95 / 100);
}

TEST(FinalTest, AFinalKeepsTheLimitOfACandidate) {
  for (const int64_t limit : {1, 10, 100}) {
    FakeClock clock;
    SyntheticTimer timer({1e3, 1.001e3}, {}, 1, clock);
    const std::vector<Finalist> finalists = {{1, 2000}};
    FinalOptions options;
    options.limits.max_launches = limit;

    const FinalResult result = RunFinal(timer, {0, 2000}, finalists, options, clock);

    const RaceEntry& entry = result.default_entry;
    const auto samples = static_cast<int64_t>(entry.measurement()->samples_ns.size());
    EXPECT_LE(samples * entry.launches, limit);
    EXPECT_GE(samples * entry.launches, limit / 2);
  }
}

}  // namespace
}  // namespace attune
