// Whole tunings of one problem on a fake clock: how the time is divided decides who can win.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/measure/fake_clock.h"
#include "attune/measure/synthetic_timer.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;

// A space of `size` configs and nothing to run.
class SpaceOnlySolver final : public Solver {
 public:
  explicit SpaceOnlySolver(int64_t size) {
    parameter_.name = "p";
    for (int64_t i = 0; i < size; ++i) parameter_.values.emplace_back(i);
  }
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    return ConfigSpace::Create({parameter_}, {});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("Never loaded.");
  }

 private:
  SolverId id_{"test.scripted", 1};
  SolverTraits traits_;
  Parameter parameter_;
};

// The time of one launch of config `p`.
using LaunchTime = std::function<double(int64_t p)>;

// Warms up as evaluators do, at the cost of time on the clock.
class WarmingTimer final : public BlockTimer {
 public:
  WarmingTimer(std::vector<double> times_ns, uint64_t seed, FakeClock& clock)
      : times_ns_(times_ns),
        warmed_(times_ns.size(), false),
        clock_(clock),
        timer_(std::move(times_ns), {.sigma = 0.02, .spike_probability = 0.005}, seed, clock) {}

  tl::expected<double, Failure> TimeBlock(size_t index, const TimingRequest& request) override {
    if (!warmed_[index] || times_ns_[index] <= kLongLaunchNs) {
      clock_.Advance(std::llround(times_ns_[index]));
    }
    warmed_[index] = true;
    return timer_.TimeBlock(index, request);
  }
  int generation() const override { return 0; }

 private:
  std::vector<double> times_ns_;
  std::vector<bool> warmed_;
  FakeClock& clock_;
  SyntheticTimer timer_;
};

// Qualifies two at once: each verified by one launch and timed by another, which takes up to 1.2
// times as long as it would alone.
class ScriptedEvaluator final : public Evaluator {
 public:
  ScriptedEvaluator(LaunchTime time_ns, uint64_t seed, FakeClock& clock)
      : time_ns_(std::move(time_ns)), seed_(seed), random_(seed), clock_(clock) {}

  Status Begin(const Problem&, uint64_t) override { return Status::Ok(); }
  Result<std::vector<Qualified>> Qualify(std::span<const Candidate> candidates,
                                         int64_t deadline_ns) override {
    std::vector<Qualified> results;
    for (const Candidate& candidate : candidates) {
      if (!results.empty() && clock_.NowNs() >= deadline_ns) break;
      const double time_ns = TimeOf(candidate);
      clock_.Advance(std::llround(2 * time_ns / 2));
      Qualified& result = results.emplace_back();
      result.trial.candidate = candidate;
      result.trial.role = TrialRole::kQualify;
      result.quick_ns = time_ns * (1 + 0.2 * random_.Uniform());
    }
    return results;
  }
  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate> candidates) override {
    std::vector<double> times_ns;
    for (const Candidate& candidate : candidates) times_ns.push_back(TimeOf(candidate));
    return std::unique_ptr<BlockTimer>(
        std::make_unique<WarmingTimer>(std::move(times_ns), ++seed_, clock_));
  }
  std::vector<BusyInterval> TakeBusyIntervals() override { return {}; }

 private:
  double TimeOf(const Candidate& candidate) const {
    return time_ns_(IntegerAt(candidate.config, "p"));
  }

  LaunchTime time_ns_;
  uint64_t seed_;
  Random random_;
  FakeClock& clock_;
};

struct Outcome {
  TuneReport report;
  int64_t winner = -1;  // Config `p` of the choice.
  size_t finalists = 0;
};

Outcome Tune(int64_t candidates, int64_t per_problem_ns, uint64_t seed, const LaunchTime& time_ns) {
  FakeClock clock;
  ScriptedEvaluator evaluator(time_ns, seed, clock);
  MemoryStore store;
  SolverList solvers;
  solvers.push_back(std::make_unique<const SpaceOnlySolver>(candidates));
  TunerParts parts;
  parts.solvers = &solvers;
  parts.store = &store;
  parts.evaluator = &evaluator;
  parts.clock = &clock;
  TuneOptions options;
  options.per_problem_ns = per_problem_ns;
  options.seed = seed;

  auto report = Tuner(parts, options).Tune(PackedGemm(64, 64, 64));

  Outcome outcome;
  EXPECT_TRUE(report.ok()) << report.status().message();
  if (!report.ok() || !report->choice.has_value()) return outcome;
  outcome.report = *std::move(report);
  outcome.winner = IntegerAt(outcome.report.choice->candidate.config, "p");
  RecordQuery query;
  query.roles = {TrialRole::kFinal};
  EXPECT_TRUE(store
                  .Visit(query,
                         [&](const RecordedSet& set) {
                           outcome.finalists = set.records.size() - 1;
                           return Status::Ok();
                         })
                  .ok());
  return outcome;
}

TEST(TuningSessionTest, LongLaunchesLeaveTheFinalEnoughTimeToDecide) {
  constexpr int kRuns = 50;
  int won = 0;
  for (uint64_t seed = 1; seed <= kRuns; ++seed) {
    const Outcome outcome = Tune(12, 2000 * kMillisecondNs, seed, [](int64_t p) {
      return p == 7 ? 32e6 : 40e6;  // 1.25 times faster than the default.
    });

    won += outcome.winner == 7 ? 1 : 0;
    EXPECT_LE(outcome.report.wall_ns, 2100 * kMillisecondNs) << seed;
  }
  EXPECT_GE(won, kRuns * 9 / 10);
}

TEST(TuningSessionTest, EqualCandidatesWithLongLaunchesLeaveTheDefault) {
  int others = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    others += Tune(12, 2000 * kMillisecondNs, seed, [](int64_t) { return 40e6; }).winner != 0;
  }
  EXPECT_LE(others, 1);
}

TEST(TuningSessionTest, LaunchesOfSomeMillisecondsReachTheFirstLookToo) {
  int won = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto time_ns = [](int64_t p) { return p == 20 ? 8e6 : 10e6; };
    won += Tune(30, 2000 * kMillisecondNs, seed, time_ns).winner == 20;
  }
  EXPECT_GE(won, 18);
}

TEST(TuningSessionTest, QuickLaunchesAreAllScreenedAndThreeComeToTheFinal) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Outcome outcome = Tune(40, 2000 * kMillisecondNs, seed, [](int64_t p) {
      return p == 0 ? 1.5e5 : 1.2e5 - 5e2 * static_cast<double>(p);
    });

    EXPECT_EQ(outcome.report.timed, 40) << seed;
    EXPECT_EQ(outcome.finalists, 3u) << seed;
    EXPECT_GE(outcome.winner, 35) << seed;
    EXPECT_LE(outcome.report.wall_ns, 2000 * kMillisecondNs) << seed;
  }
}

TEST(TuningSessionTest, LaunchesThatFitTheBudgetFourTimesStillFindAGrossDifference) {
  const Outcome outcome =
      Tune(12, 4000 * kMillisecondNs, 1, [](int64_t p) { return p == 1 ? 0.3e9 : 1e9; });

  EXPECT_EQ(outcome.winner, 1);
}

}  // namespace
}  // namespace attune
