// Whole tunings of one problem on a fake clock: the division of time decides which candidates can
// win.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;

struct Outcome {
  TuneReport report;
  int64_t winner = -1;  // Config `p` of the choice.
  size_t finalists = 0;
};

// The environment of a tuner of one solver with `candidates` configs.
struct Scene {
  Scene(int64_t candidates, Evaluator& evaluator, Clock& clock) {
    solvers.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted", candidates));
    parts.solvers = &solvers;
    parts.store = &store;
    parts.evaluator = &evaluator;
    parts.clock = &clock;
  }

  MemoryStore store;
  SolverList solvers;
  TunerParts parts;
};

Outcome Tune(int64_t candidates, int64_t per_problem_ns, uint64_t seed, const LaunchTime& time_ns) {
  FakeClock clock;
  ScriptedEvaluator evaluator(time_ns, seed, clock);
  Scene scene(candidates, evaluator, clock);
  TuneOptions options;
  options.per_problem_ns = per_problem_ns;
  options.seed = seed;

  auto report = Tuner(scene.parts, options).Tune(PackedGemm(64, 64, 64));

  Outcome outcome;
  EXPECT_TRUE(report.ok()) << report.status().message();
  if (!report.ok() || !report->choice.has_value()) return outcome;
  outcome.report = *std::move(report);
  outcome.winner = IntegerAt(outcome.report.choice->candidate.config, "p");
  RecordQuery query;
  query.roles = {TrialRole::kFinal};
  EXPECT_TRUE(scene.store
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

TEST(TuningSessionTest, WhatTheDeviceWorkedIsReported) {
  // One candidate, which the scripted device verifies and times by one launch each, two at once.
  const Outcome outcome = Tune(1, 2000 * kMillisecondNs, 1, [](int64_t) { return 40e6; });

  EXPECT_EQ(outcome.report.device_busy_ns, 40 * kMillisecondNs);
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

// Takes up to `most` candidates at once and returns the newest result first.
class BackwardEvaluator final : public Evaluator {
 public:
  explicit BackwardEvaluator(size_t most) : most_(most) {}

  Status Begin(const Problem&, uint64_t, const EvaluationTerms&, const ReferenceTerms&) override {
    return Status::Ok();
  }
  Result<std::vector<Config>> List(const SolverId&) override { return std::vector<Config>(); }
  Status QualifyFrom(CandidateStream& stream, const QualifyTime&) override {
    std::vector<Candidate> out;
    while (asked_.size() < kMostAsked) {
      while (out.size() < most_) {
        const std::optional<Candidate> next = stream.Next();
        if (!next.has_value()) break;
        asked_.push_back(IntegerAt(next->config, "p"));
        out.push_back(*next);
      }
      if (out.empty()) break;
      Qualified result;
      result.trial.candidate = out.back();
      result.trial.role = TrialRole::kQualify;
      const auto p = static_cast<double>(IntegerAt(out.back().config, "p"));
      result.quick_ns = 1e6 + 1e3 * std::abs(p - 300);
      out.pop_back();
      stream.Tell(std::move(result));
    }
    return Status::Ok();
  }
  Result<std::unique_ptr<BlockTimer>> StartTiming(std::span<const Candidate>) override {
    return Internal("Nothing is timed here.");
  }
  BusyTime TakeBusyTime() override { return {}; }

  // The first candidates, in the order in which they arrived.
  std::vector<int64_t> asked() const {
    return {asked_.begin(), asked_.begin() + std::min(asked_.size(), kMostAsked)};
  }

 private:
  static constexpr size_t kMostAsked = 120;
  const size_t most_;
  std::vector<int64_t> asked_;
};

TEST(TuningSessionTest, TheSameAnswersLeadToTheSameQuestionsInWhateverOrderTheyCome) {
  const auto asked = [](size_t most) {
    FakeClock clock;
    BackwardEvaluator evaluator(most);
    Scene scene(1000, evaluator, clock);
    TuneOptions options;
    options.per_problem_ns = 2000 * kMillisecondNs;
    // There is no timer, so tuning fails after the search.
    EXPECT_FALSE(Tuner(scene.parts, options).Tune(PackedGemm(64, 64, 64)).ok());
    return evaluator.asked();
  };

  const std::vector<int64_t> one_at_a_time = asked(1);

  ASSERT_EQ(one_at_a_time.size(), 120u);
  EXPECT_EQ(asked(2), one_at_a_time);
  EXPECT_EQ(asked(5), one_at_a_time);
}

TEST(TuningSessionTest, ResultsCountIfEvaluatingOthersFails) {
  FakeClock clock;
  ScriptedEvaluator evaluator([](int64_t p) { return p == 3 ? 1e6 : 2e6; }, 1, clock);
  Scene scene(12, evaluator, clock);
  evaluator.BreakAfter(5);

  const auto report = Tuner(scene.parts, TuneOptions()).Tune(PackedGemm(64, 64, 64));

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->qualified, 6);  // The default and five more.
  ASSERT_TRUE(report->choice.has_value());
  EXPECT_EQ(IntegerAt(report->choice->candidate.config, "p"), 3);
}

TEST(TuningSessionTest, FailsIfNothingCanBeEvaluated) {
  FakeClock clock;
  ScriptedEvaluator evaluator([](int64_t) { return 2e6; }, 1, clock);
  Scene scene(12, evaluator, clock);
  evaluator.BreakAfter(0);

  EXPECT_FALSE(Tuner(scene.parts, TuneOptions()).Tune(PackedGemm(64, 64, 64)).ok());
}

// One problem, tuned again and again while the times of its candidates change.
class RetuningTest : public ::testing::Test {
 protected:
  RetuningTest() {
    solvers_.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted", 12));
    parts_.solvers = &solvers_;
    parts_.store = &store_;
    parts_.evaluator = &evaluator_;
    parts_.clock = &clock_;
  }

  TuneReport Tune(int64_t per_problem_ns) {
    TuneOptions options;
    options.per_problem_ns = per_problem_ns;
    options.seed = ++seed_;
    const auto report = Tuner(parts_, options).Tune(problem_);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.value_or(TuneReport());
  }

  // Config `p` of the incumbent in the records.
  int64_t Best() {
    const auto best = Tuner(parts_, {}).FindStanding(problem_);
    return best.ok() && best->has_value() ? IntegerAt((*best)->candidate.config, "p") : -1;
  }

  bool IsInFinal(const std::string& set_id, int64_t p) { return TimesInFinal(set_id, p) > 0; }

  // Number of trials of config `p` in the final of `set_id`.
  int TimesInFinal(const std::string& set_id, int64_t p) {
    int found = 0;
    RecordQuery query;
    query.roles = {TrialRole::kFinal};
    const Status visited = store_.Visit(query, [&](const RecordedSet& recorded) {
      for (const Record& record : recorded.records) {
        const bool is_it = IntegerAt(record.trial.candidate.config, "p") == p;
        found += recorded.set.id == set_id && is_it ? 1 : 0;
      }
      return Status::Ok();
    });
    EXPECT_TRUE(visited.ok());
    return found;
  }

  SetConditions ConditionsOf(const std::string& set_id) {
    SetConditions conditions;
    const Status visited = store_.Visit({}, [&](const RecordedSet& recorded) {
      if (recorded.set.id == set_id) conditions = recorded.conditions;
      return Status::Ok();
    });
    EXPECT_TRUE(visited.ok());
    return conditions;
  }

  const Problem problem_ = PackedGemm(64, 64, 64);
  FakeClock clock_;
  LaunchTime time_ns_ = [](int64_t p) { return p == 7 ? 32e6 : 40e6; };
  ScriptedEvaluator evaluator_{[this](int64_t p) { return time_ns_(p); }, 1, clock_};
  MemoryStore store_;
  SolverList solvers_;
  TunerParts parts_;
  uint64_t seed_ = 0;
};

TEST_F(RetuningTest, HurriedOnesKeepWhatACarefulOneFound) {
  const TuneReport careful = Tune(4000 * kMillisecondNs);
  ASSERT_EQ(Best(), 7);

  for (int i = 0; i < 20; ++i) {
    const TuneReport hurried = Tune(200 * kMillisecondNs);

    ASSERT_EQ(Best(), 7) << i;
    ASSERT_TRUE(hurried.choice.has_value());
    EXPECT_EQ(hurried.choice->set_id, careful.set_id);
    ASSERT_FALSE(hurried.notes.empty());
    EXPECT_NE(hurried.notes.back().find(careful.set_id + " decided stays"), std::string::npos);
  }
}

TEST_F(RetuningTest, ABusyMachineIsNoted) {
  EXPECT_TRUE(Tune(4000 * kMillisecondNs).is_steady);
  evaluator_.Disturb(2.0);

  const TuneReport busy = Tune(4000 * kMillisecondNs);

  EXPECT_FALSE(busy.is_steady);
  const std::string notes = testing::PrintToString(busy.notes);
  EXPECT_NE(notes.find("wider than the ±25 % of an idle machine"), std::string::npos) << notes;
}

class MachineOfAnother final : public MachineTurns {
 public:
  Result<Grant> Take(MachineUse, const std::function<bool()>&) override {
    return Unavailable("Nothing is measured beside it.");
  }
};

// And no more than that: kUnavailable would end the run, as a lost store does.
TEST_F(RetuningTest, WhereNobodyMayMeasureBesideAnotherTheProblemHasFailed) {
  MachineOfAnother machine;
  parts_.machine = &machine;

  const auto report = Tuner(parts_, {}).Tune(problem_);

  EXPECT_EQ(report.status().code(), StatusCode::kInternal);
  EXPECT_EQ(report.status().message(), "Nothing is measured beside it.");
}

// Other processes have it for a long time before every turn.
class MachineOfMany final : public MachineTurns {
 public:
  static constexpr int64_t kWaitNs = 1'000'000 * kMillisecondNs;

  explicit MachineOfMany(FakeClock& clock) : clock_(clock) {}

  Result<Grant> Take(MachineUse, const std::function<bool()>&) override {
    clock_.Advance(kWaitNs);
    return Grant{std::make_unique<Turn>(), ""};
  }

 private:
  FakeClock& clock_;
};

TEST_F(RetuningTest, WhatTakesLongerThanAProblemMayIsGivenUpAndWaitsDoNotCount) {
  MachineOfMany machine(clock_);
  parts_.machine = &machine;
  TuneBounds bounds;
  bounds.longest_ns = MachineOfMany::kWaitNs / 2;
  const int64_t begin_ns = clock_.NowNs();

  evaluator_.ComputeReferencesFor(501);
  const auto longer = Tuner(parts_, {}).Tune(problem_, nullptr, bounds);
  const int64_t took_ns = clock_.NowNs() - begin_ns - MachineOfMany::kWaitNs;
  evaluator_.ComputeReferencesFor(499);
  const auto shorter = Tuner(parts_, {}).Tune(problem_, nullptr, bounds);

  EXPECT_EQ(longer.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_LE(took_ns, bounds.longest_ns);
  EXPECT_TRUE(shorter.ok()) << shorter.status().message();
}

TEST_F(RetuningTest, AClockThatIsHeldBackIsRecordedAndNoted) {
  DeviceConditions before;
  before.compute_clock_mhz = 1980;
  before.clock_reasons = {"gpu_idle"};
  DeviceConditions after;
  after.compute_clock_mhz = 1305;
  after.clock_reasons = {"sw_power_cap"};
  evaluator_.TellConditions({before, after});

  const TuneReport report = Tune(4000 * kMillisecondNs);

  EXPECT_EQ(report.held_back_by, std::vector<std::string>{"power cap"});
  const std::string notes = testing::PrintToString(report.notes);
  EXPECT_NE(notes.find("(throttled: power cap)"), std::string::npos) << notes;
  EXPECT_EQ(ConditionsOf(report.set_id), (SetConditions{before, after}));
}

TEST_F(RetuningTest, ImpossibleConditionsCostTheSetItsConditionsAndNothingElse) {
  DeviceConditions fine;
  fine.compute_clock_mhz = 1980;
  DeviceConditions impossible = fine;
  impossible.power_w = -1;
  evaluator_.TellConditions({fine, impossible});

  const TuneReport report = Tune(4000 * kMillisecondNs);

  EXPECT_TRUE(report.choice.has_value());
  EXPECT_EQ(Best(), 7);
  EXPECT_TRUE(ConditionsOf(report.set_id).empty());
  const auto said = std::count_if(report.notes.begin(), report.notes.end(), [](const auto& note) {
    return note.find("power_w is -1") != std::string::npos;
  });
  EXPECT_EQ(said, 1) << testing::PrintToString(report.notes);
}

TEST_F(RetuningTest, ADeviceThatTellsNothingLeavesNoConditionsAndNoNote) {
  const TuneReport report = Tune(4000 * kMillisecondNs);

  EXPECT_TRUE(report.held_back_by.empty());
  EXPECT_TRUE(ConditionsOf(report.set_id).empty());
}

TEST_F(RetuningTest, AsCarefulOnesDecideAnew) {
  const TuneReport first = Tune(4000 * kMillisecondNs);
  const TuneReport second = Tune(4000 * kMillisecondNs);

  EXPECT_TRUE(IsInFinal(second.set_id, 7));
  EXPECT_EQ(second.choice->set_id, second.set_id);
  EXPECT_NE(second.set_id, first.set_id);
}

TEST_F(RetuningTest, TheStandingChoiceIsInEveryFinalAndGivesWayIfItHasBecomeSlow) {
  Tune(4000 * kMillisecondNs);
  ASSERT_EQ(Best(), 7);
  time_ns_ = [](int64_t p) { return p == 7 ? 55e6 : p == 3 ? 30e6 : 40e6; };

  const TuneReport again = Tune(4000 * kMillisecondNs);

  EXPECT_TRUE(IsInFinal(again.set_id, 7));
  EXPECT_EQ(Best(), 3);
}

// The time allows 2 of 12 candidates: the default and the one tried with it.
TEST_F(RetuningTest, WhatServesUntriedIsTriedBehindTheDefaultIfItsSolverTakesPart) {
  TuneOptions hurried;
  hurried.per_problem_ns = 4000 * kMillisecondNs;
  hurried.max_candidates = 1;
  TuneOptions options = hurried;
  options.served = Candidate{{"test.scripted", 1}, {{"p", int64_t{7}}}};
  EXPECT_EQ(IntegerAt(Tuner(parts_, hurried).Tune(problem_)->choice->candidate.config, "p"), 0);

  const auto report = Tuner(parts_, options).Tune(problem_);

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->considered, 2);
  EXPECT_EQ(TimesInFinal(report->set_id, 7), 1);
  EXPECT_EQ(Best(), 7);
  options.served->solver.name = "test.absent";
  EXPECT_EQ(Tuner(parts_, options).Tune(problem_)->considered, 2);  // The other is the incumbent.
}

TEST_F(RetuningTest, WhatServesUntriedIsTriedOnceThoughTheSearchComesToItToo) {
  TuneOptions options;
  options.per_problem_ns = 4000 * kMillisecondNs;
  options.served = Candidate{{"test.scripted", 1}, {{"p", int64_t{3}}}};

  const auto report = Tuner(parts_, options).Tune(problem_);

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->considered, 12);
  EXPECT_EQ(Best(), 7);
}

TEST_F(RetuningTest, WhatASearchFoundIsTimedInItsPlaceAndOnce) {
  evaluator_.Search(3, 100);
  time_ns_ = [](int64_t p) { return p == 100 ? 20e6 : 40e6; };

  const TuneReport first = Tune(4000 * kMillisecondNs);
  const TuneReport again = Tune(4000 * kMillisecondNs);

  EXPECT_EQ(Best(), 100);
  EXPECT_EQ(TimesInFinal(first.set_id, 100), 1);
  EXPECT_FALSE(IsInFinal(first.set_id, 3));
  // The incumbent is found again then.
  EXPECT_EQ(TimesInFinal(again.set_id, 100), 1);
}

TEST_F(RetuningTest, WhatASearchFoundForTheDefaultIsTheBaseline) {
  evaluator_.Search(0, 100);

  const TuneReport report = Tune(4000 * kMillisecondNs);

  ASSERT_TRUE(report.choice.has_value());
  EXPECT_EQ(IntegerAt(report.choice->default_candidate.config, "p"), 100);
}

TEST_F(RetuningTest, AFarSlowerStandingChoiceIsTimedToo) {
  Tune(4000 * kMillisecondNs);
  time_ns_ = [](int64_t p) { return p == 7 ? 40e6 : 1e6; };

  const TuneReport again = Tune(4000 * kMillisecondNs);

  EXPECT_TRUE(IsInFinal(again.set_id, 7));
  EXPECT_NE(Best(), 7);
}

TEST_F(RetuningTest, WhereNobodyCanBeTimedNothingIsChosen) {
  Tune(4000 * kMillisecondNs);
  evaluator_.FailAll();

  const TuneReport again = Tune(4000 * kMillisecondNs);

  EXPECT_FALSE(again.choice.has_value());
  EXPECT_EQ(again.first_failure, "As told.");
  EXPECT_EQ(Best(), 7);
}

TEST_F(RetuningTest, WhereAWrongDefaultTookTheTimeTheNextOneIsTheBaseline) {
  solvers_.push_back(std::make_unique<const SpaceOnlySolver>("test.other", 12));
  evaluator_.FailSolver("test.scripted");
  time_ns_ = [](int64_t) { return 600e6; };

  const TuneReport report = Tune(1000 * kMillisecondNs);

  ASSERT_TRUE(report.choice.has_value());
  EXPECT_EQ(report.choice->candidate.solver.name, "test.other");
}

TEST_F(RetuningTest, ADefaultThatTakesLongerToCreateThanTheProblemMayIsLeftOut) {
  evaluator_.CreateSlowly(0, 20'000 * kMillisecondNs);

  const TuneReport report = Tune(2000 * kMillisecondNs);

  ASSERT_TRUE(report.choice.has_value());
  EXPECT_NE(IntegerAt(report.choice->default_candidate.config, "p"), 0);
  EXPECT_FALSE(IsInFinal(report.set_id, 0));
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes[0].find("20.0 s to create, longer than the 2.0 s"), std::string::npos);
  EXPECT_EQ(Best(), 7);
}

TEST_F(RetuningTest, ADefaultThatIsSlowToCreateStaysWhereTheTimeAllowsIt) {
  evaluator_.CreateSlowly(0, 1'000 * kMillisecondNs);

  const TuneReport report = Tune(4000 * kMillisecondNs);

  EXPECT_EQ(IntegerAt(report.choice->default_candidate.config, "p"), 0);
}

TEST_F(RetuningTest, WhatStandsElsewhereDoesNotHinderAHurriedOneHere) {
  Tune(4000 * kMillisecondNs);
  parts_.environment = {{"policy.omp_wait", "active"}};

  const TuneReport hurried = Tune(200 * kMillisecondNs);

  EXPECT_EQ(hurried.choice->set_id, hurried.set_id);
}

}  // namespace
}  // namespace attune
