// Whole tunings of one problem on a fake clock: how the time is divided decides who can win.
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tune_run.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;

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
  solvers.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted", candidates));
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

  // Config `p` of what the records say is best.
  int64_t Best() {
    const auto best = Tuner(parts_, {}).FindStanding(problem_);
    return best.ok() && best->has_value() ? IntegerAt((*best)->candidate.config, "p") : -1;
  }

  // Whether config `p` is in the final of `set_id`.
  bool IsInFinal(const std::string& set_id, int64_t p) {
    bool found = false;
    RecordQuery query;
    query.roles = {TrialRole::kFinal};
    const Status visited = store_.Visit(query, [&](const RecordedSet& recorded) {
      for (const Record& record : recorded.records) {
        found |= recorded.set.id == set_id && IntegerAt(record.trial.candidate.config, "p") == p;
      }
      return Status::Ok();
    });
    EXPECT_TRUE(visited.ok());
    return found;
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
  EXPECT_EQ(Best(), 7);
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

// Lists, two problems long, that somebody else may tune too.
class SharedListTest : public ::testing::Test {
 protected:
  SharedListTest() {
    solvers_.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted", 3));
    parts_.solvers = &solvers_;
    parts_.store = &store_;
    parts_.evaluator = &evaluator_;
    parts_.clock = &clock_;
    options_.per_problem_ns = 500 * kMillisecondNs;
  }

  std::vector<ProblemOutcome::Kind> TuneList(const RunOptions& run) {
    Tuner tuner(parts_, options_);
    const auto summary = TuneAll(tuner, problems_, run, nullptr);
    std::vector<ProblemOutcome::Kind> kinds;
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    if (!summary.ok()) return kinds;
    for (const ProblemOutcome& outcome : summary->outcomes) kinds.push_back(outcome.kind);
    return kinds;
  }

  std::vector<Problem> ProblemsOfSets() {
    std::vector<Problem> problems;
    EXPECT_TRUE(store_
                    .Visit({},
                           [&](const RecordedSet& set) {
                             problems.push_back(set.set.problem);
                             return Status::Ok();
                           })
                    .ok());
    return problems;
  }

  FakeClock clock_;
  ScriptedEvaluator evaluator_{[](int64_t) { return 1e5; }, 1, clock_};
  MemoryStore store_;
  SolverList solvers_;
  TunerParts parts_;
  TuneOptions options_;
  const std::vector<TaggedProblem> problems_ = {{PackedGemm(64, 64, 64), 1},
                                                {PackedGemm(32, 32, 32), 1}};
};

// Somebody else has one problem until `rests` rests are over.
class OtherTuner final : public ProblemTurns {
 public:
  OtherTuner(Problem problem, int rests, std::function<void()> at_end)
      : problem_(std::move(problem)), rests_(rests), at_end_(std::move(at_end)) {}

  Result<std::unique_ptr<Turn>> TryTake(const Problem& problem) override {
    asked_.push_back(problem);
    if (problem == problem_ && rests_ > 0) return std::unique_ptr<Turn>();
    return std::make_unique<Turn>();
  }
  void Rest() override {
    if (--rests_ == 0 && at_end_) at_end_();
  }

  const std::vector<Problem>& asked() const { return asked_; }

 private:
  const Problem problem_;
  int rests_;
  const std::function<void()> at_end_;
  std::vector<Problem> asked_;
};

using Kind = ProblemOutcome::Kind;

TEST_F(SharedListTest, WhatSomebodyElseTunesComesLastAndIsNotMeasuredAgain) {
  OtherTuner other(problems_[0].problem, 2, [this] {
    EXPECT_TRUE(Tuner(parts_, options_).Tune(problems_[0].problem).ok());
  });
  RunOptions run;
  run.turns = &other;

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kAlreadyTuned, Kind::kTuned}));
  EXPECT_EQ(ProblemsOfSets().size(), 2u);
  ASSERT_GE(other.asked().size(), 2u);
  EXPECT_EQ(other.asked()[1], problems_[1].problem);
}

TEST_F(SharedListTest, ARunThatIsStoppedGivesUpTheReferenceThatItComputes) {
  evaluator_.ComputeReferencesFor(1000);
  RunOptions run;
  run.stop_requested = [this] { return clock_.NowNs() >= 3'000'000'000; };

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kNotReached, Kind::kNotReached}));
  EXPECT_TRUE(ProblemsOfSets().empty());
}

TEST_F(SharedListTest, AReferenceThatTakesLongShowsHowFarItIs) {
  evaluator_.ComputeReferencesFor(10);
  RunProgress last;
  const auto listen = [&](const RunProgress& progress) {
    if (progress.tune.stage == TuneProgress::Stage::kReference) last = progress;
  };
  Tuner tuner(parts_, options_);

  ASSERT_TRUE(TuneAll(tuner, {problems_.data(), 1}, {}, listen).ok());

  EXPECT_EQ(last.tune.reference_share, 0.9);
  EXPECT_EQ(last.elapsed_ns, 10'000'000'000);
}

TEST_F(SharedListTest, WhatSomebodyElseGaveUpIsTunedHere) {
  OtherTuner other(problems_[0].problem, 2, nullptr);
  RunOptions run;
  run.turns = &other;

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kTuned, Kind::kTuned}));
}

TEST_F(SharedListTest, WhatWasTunedSinceTheRunBeganIsNotMeasuredAgain) {
  OtherTuner other(problems_[0].problem, 0, nullptr);
  bool first_question = true;
  RunOptions run;
  run.turns = &other;
  run.stop_requested = [&] {
    if (first_question) {
      EXPECT_TRUE(Tuner(parts_, options_).Tune(problems_[1].problem).ok());
    }
    first_question = false;
    return false;
  };

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kTuned, Kind::kAlreadyTuned}));
  EXPECT_EQ(ProblemsOfSets().size(), 2u);
}

TEST_F(SharedListTest, ARunThatIsStoppedWaitsForNobody) {
  int asked = 0;
  OtherTuner other(problems_[0].problem, 1'000'000, nullptr);
  RunOptions run;
  run.turns = &other;
  run.stop_requested = [&] { return ++asked > 5; };

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kNotReached, Kind::kTuned}));
}

TEST_F(SharedListTest, ARunThatMeasuresAgainDoesSoAfterTheOther) {
  OtherTuner other(problems_[0].problem, 1, [this] {
    EXPECT_TRUE(Tuner(parts_, options_).Tune(problems_[0].problem).ok());
  });
  RunOptions run;
  run.turns = &other;
  run.retune = true;

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kTuned, Kind::kTuned}));
  EXPECT_EQ(ProblemsOfSets().size(), 3u);
}

TEST_F(SharedListTest, WhoRunsCodeOfAnExcludedLibraryTakesNoPart) {
  options_.excluded_libraries = {"other", "scripted"};

  const auto report = Tuner(parts_, options_).Tune(problems_[0].problem);

  EXPECT_EQ(report.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(report.status().message().find("scripted, which is switched off"), std::string::npos);
  EXPECT_TRUE(ProblemsOfSets().empty());
}

TEST_F(SharedListTest, RotatingWithoutCopiesAndCopiesWithoutRotatingAreRefused) {
  options_.cache = CacheState::kRotating;
  EXPECT_EQ(Tuner(parts_, options_).Tune(problems_[0].problem).status().code(),
            StatusCode::kInvalidArgument);

  options_.cache = CacheState::kWarm;
  options_.terms.rotation_bytes = 1 << 20;
  EXPECT_EQ(Tuner(parts_, options_).Tune(problems_[0].problem).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(SharedListTest, WhoeverIsComparedWithTheDefaultWaitsUntilItWorks) {
  options_.terms.output_check = OutputTolerance{1e-2, 1e-1};

  ASSERT_TRUE(Tuner(parts_, options_).Tune(problems_[0].problem).ok());

  ASSERT_GE(evaluator_.batches().size(), 2u);
  EXPECT_EQ(evaluator_.batches()[0], 1u);
}

TEST_F(SharedListTest, ASetSaysUnderWhichTermsItWasMeasured) {
  options_.cache = CacheState::kRotating;
  options_.terms.rotation_bytes = 1 << 20;
  options_.limits.max_launches = 24;

  ASSERT_TRUE(Tuner(parts_, options_).Tune(problems_[0].problem).ok());

  const Status visited = store_.Visit({}, [&](const RecordedSet& set) {
    EXPECT_EQ(set.set.cache, CacheState::kRotating);
    EXPECT_EQ(set.set.environment,
              (Environment{{"tuning.max_launches", "24"}, {"tuning.rotation_bytes", "1048576"}}));
    for (const Record& record : set.records) {
      const Measurement* measurement = record.trial.measurement();
      if (measurement != nullptr) {
        EXPECT_LE(measurement->samples_ns.size(), 24u);
      }
    }
    return Status::Ok();
  });
  EXPECT_TRUE(visited.ok());
}

TEST_F(SharedListTest, AProblemTunedUnderOtherCachesIsTunedAgain) {
  ASSERT_EQ(TuneList({}), (std::vector<Kind>{Kind::kTuned, Kind::kTuned}));
  options_.cache = CacheState::kRotating;
  options_.terms.rotation_bytes = 1 << 20;

  EXPECT_EQ(TuneList({}), (std::vector<Kind>{Kind::kTuned, Kind::kTuned}));
  EXPECT_EQ(TuneList({}), (std::vector<Kind>{Kind::kAlreadyTuned, Kind::kAlreadyTuned}));
}

}  // namespace
}  // namespace attune
