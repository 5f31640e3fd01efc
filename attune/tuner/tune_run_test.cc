// Runs over lists, alone and beside others: tuned problems, skipped problems, their order.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tune_run.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;

// Lists of two problems that another process may tune too.
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

  std::vector<ProblemOutcome> OutcomesOf(const RunOptions& run) {
    Tuner tuner(parts_, options_);
    auto summary = TuneAll(tuner, problems_, run, nullptr);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? std::move(summary->outcomes) : std::vector<ProblemOutcome>();
  }

  std::vector<ProblemOutcome::Kind> TuneList(const RunOptions& run) {
    std::vector<ProblemOutcome::Kind> kinds;
    for (const ProblemOutcome& outcome : OutcomesOf(run)) kinds.push_back(outcome.kind);
    return kinds;
  }

  // The same with this much time for each problem.
  std::vector<ProblemOutcome::Kind> TuneListFor(int64_t per_problem_ns) {
    options_.per_problem_ns = per_problem_ns;
    return TuneList({});
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
  LaunchTime time_ns_ = [](int64_t) { return 1e5; };
  ScriptedEvaluator evaluator_{[this](int64_t p) { return time_ns_(p); }, 1, clock_};
  MemoryStore store_;
  SolverList solvers_;
  TunerParts parts_;
  TuneOptions options_;
  const std::vector<TaggedProblem> problems_ = {{PackedGemm(64, 64, 64), 1},
                                                {PackedGemm(32, 32, 32), 1}};
};

// Another process has one problem until `rests` rests are over.
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

TEST_F(SharedListTest, WhatExceedsAWholeRunIsToldFromWhatTheNextOneReaches) {
  evaluator_.ComputeReferencesFor(1000);
  RunOptions of_budget;
  of_budget.budget_ns = 10'000'000'000;
  RunOptions stopped;
  stopped.stop_requested = [this] { return clock_.NowNs() >= 3'000'000'000; };
  Tuner tuner(parts_, options_);

  const auto too_long = TuneAll(tuner, {problems_.data(), 1}, of_budget, nullptr);
  const auto interrupted = TuneAll(tuner, {problems_.data(), 1}, stopped, nullptr);

  ASSERT_TRUE(too_long.ok() && interrupted.ok());
  EXPECT_EQ(too_long->outcomes[0].kind, Kind::kNotReached);
  EXPECT_TRUE(too_long->outcomes[0].exceeds_run);
  EXPECT_EQ(interrupted->outcomes[0].kind, Kind::kNotReached);
  EXPECT_FALSE(interrupted->outcomes[0].exceeds_run);
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

TEST_F(SharedListTest, WhatAnotherMeasuredSinceARunBeganIsNotMeasuredAgainByIt) {
  OtherTuner other(problems_[0].problem, 1, [this] {
    EXPECT_TRUE(Tuner(parts_, options_).Tune(problems_[0].problem).ok());
  });
  RunOptions run;
  run.turns = &other;
  run.retune = true;

  const auto kinds = TuneList(run);

  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kAlreadyTuned, Kind::kTuned}));
  EXPECT_EQ(ProblemsOfSets().size(), 2u);
}

TEST_F(SharedListTest, ARunThatMeasuresAgainDoesSoWhereTheOtherGaveItLessTime) {
  OtherTuner other(problems_[0].problem, 1, [this] {
    TuneOptions hurried = options_;
    hurried.per_problem_ns = options_.per_problem_ns / 2;
    EXPECT_TRUE(Tuner(parts_, hurried).Tune(problems_[0].problem).ok());
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
    EXPECT_EQ(set.set.environment, (Environment{{"tuning.max_launches", "24"},
                                                {"tuning.per_problem_ns", "500000000"},
                                                {"tuning.rotation_bytes", "1048576"}}));
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

const std::vector<Kind> kBothTuned = {Kind::kTuned, Kind::kTuned};
const std::vector<Kind> kBothReused = {Kind::kAlreadyTuned, Kind::kAlreadyTuned};

TEST_F(SharedListTest, WhatHadLessTimeIsMeasuredAgainOnceAndSaysWhy) {
  ASSERT_EQ(TuneListFor(0), kBothTuned);
  options_.per_problem_ns = 500 * kMillisecondNs;

  const std::vector<ProblemOutcome> again = OutcomesOf({});

  ASSERT_EQ(again.size(), 2u);
  for (const ProblemOutcome& outcome : again) {
    EXPECT_EQ(outcome.kind, Kind::kTuned);
    EXPECT_EQ(outcome.message, "measured again, because it had only 0 s before");
  }
  EXPECT_EQ(TuneList({}), kBothReused);
  EXPECT_EQ(TuneListFor(100 * kMillisecondNs), kBothReused);
}

TEST_F(SharedListTest, WhatTriedFewerCandidatesIsMeasuredAgainAndSaysWhy) {
  options_.max_candidates = 5;
  EXPECT_EQ(TuneList({}), kBothTuned);
  EXPECT_EQ(TuneList({}), kBothReused);
  options_.max_candidates = 0;
  EXPECT_EQ(OutcomesOf({}).at(0).message,
            "measured again, because fewer candidates were tried before");
  EXPECT_EQ(TuneList({}), kBothReused);
}

TEST_F(SharedListTest, WhatIsTunedForTheFirstTimeHasNoReason) {
  for (const ProblemOutcome& outcome : OutcomesOf({})) EXPECT_EQ(outcome.message, "");
}

TEST_F(SharedListTest, TheMostTimeOfAllSetsCounts) {
  ASSERT_EQ(TuneListFor(1000 * kMillisecondNs), kBothTuned);
  options_.per_problem_ns = 200 * kMillisecondNs;
  RunOptions retune;
  retune.retune = true;
  ASSERT_EQ(TuneList(retune), kBothTuned);

  EXPECT_EQ(TuneListFor(1000 * kMillisecondNs), kBothReused);
}

TEST_F(SharedListTest, ASetThatEndedUndecidedWithAsMuchTimeIsEnough) {
  time_ns_ = [](int64_t p) { return p == 1 ? 32e6 : 40e6; };
  ASSERT_EQ(TuneListFor(4000 * kMillisecondNs), kBothTuned);
  evaluator_.Disturb(2.0);
  options_.per_problem_ns = 4100 * kMillisecondNs;
  for (const ProblemOutcome& outcome : OutcomesOf({})) {
    ASSERT_NE(outcome.report.choice->set_id, outcome.report.set_id) << "It decided.";
  }

  EXPECT_EQ(TuneList({}), kBothReused);
}

TEST_F(SharedListTest, TimeUnderAnotherEnvironmentDoesNotCount) {
  ASSERT_EQ(TuneListFor(200 * kMillisecondNs), kBothTuned);
  parts_.environment = {{"policy.omp_wait", "active"}};
  ASSERT_EQ(TuneListFor(2000 * kMillisecondNs), kBothTuned);
  parts_.environment = {};

  EXPECT_EQ(TuneListFor(1000 * kMillisecondNs), kBothTuned);
}

TEST_F(SharedListTest, TimeOfSolversThatMayNotTakePartDoesNotCount) {
  ASSERT_EQ(TuneListFor(200 * kMillisecondNs), kBothTuned);
  solvers_.insert(solvers_.begin(), std::make_unique<const SpaceOnlySolver>("test.other", 1));
  ASSERT_EQ(TuneListFor(2000 * kMillisecondNs), kBothTuned);
  options_.excluded_libraries = {"other"};

  EXPECT_EQ(TuneListFor(1000 * kMillisecondNs), kBothTuned);
}

// Other processes have it for `wait_ns` before every turn.
class BusyMachine final : public MachineTurns {
 public:
  BusyMachine(FakeClock& clock, int64_t wait_ns) : clock_(clock), wait_ns_(wait_ns) {}

  Result<Grant> Take(MachineUse use, const std::function<bool()>& go_on) override {
    EXPECT_FALSE(held_.has_value()) << "One turn at a time.";
    constexpr int64_t kLookNs = 1'000'000'000;
    for (int64_t waited_ns = 0; waited_ns < wait_ns_; waited_ns += kLookNs) {
      if (!go_on()) return DeadlineExceeded("Another process measures.");
      clock_.Advance(kLookNs);
    }
    if (gives_none_) return Grant{nullptr, "Another process has had the machine."};
    held_ = use;
    return Grant{std::make_unique<HeldTurn>(*this), ""};
  }

  // From now on every caller proceeds without a turn.
  void GiveNone() { gives_none_ = true; }

  const std::optional<MachineUse>& held() const { return held_; }

 private:
  class HeldTurn final : public Turn {
   public:
    explicit HeldTurn(BusyMachine& machine) : machine_(machine) {}
    ~HeldTurn() override { machine_.held_.reset(); }

   private:
    BusyMachine& machine_;
  };

  FakeClock& clock_;
  const int64_t wait_ns_;
  bool gives_none_ = false;
  std::optional<MachineUse> held_;
};

constexpr int64_t kSecondNs = 1'000'000'000;

TEST_F(SharedListTest, WaitingForTheMachineTakesNothingOfTheTimeOfAProblem) {
  time_ns_ = [](int64_t p) { return p == 1 ? 5e6 : 6e6; };
  const std::vector<ProblemOutcome> alone = OutcomesOf({});
  FakeClock clock;
  ScriptedEvaluator evaluator(time_ns_, 1, clock);
  MemoryStore store;
  BusyMachine machine(clock, 100 * kSecondNs);
  parts_.clock = &clock;
  parts_.evaluator = &evaluator;
  parts_.store = &store;
  parts_.machine = &machine;

  const std::vector<ProblemOutcome> beside = OutcomesOf({});

  ASSERT_EQ(alone.size(), beside.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    const TuneReport& report = beside[i].report;
    ASSERT_TRUE(report.choice.has_value());
    EXPECT_EQ(report.choice->candidate, alone[i].report.choice->candidate);
    EXPECT_EQ(report.choice->measurement.samples_ns,
              alone[i].report.choice->measurement.samples_ns);
    EXPECT_EQ(report.waited_ns, 200 * kSecondNs);
    EXPECT_EQ(report.wall_ns, alone[i].report.wall_ns + report.waited_ns);
  }
}

TEST_F(SharedListTest, CandidatesAreTimedByWhoeverHasTheMachineAlone) {
  BusyMachine machine(clock_, 0);
  parts_.machine = &machine;
  std::set<std::pair<TuneProgress::Stage, std::optional<MachineUse>>> seen;
  Tuner tuner(parts_, options_);

  ASSERT_TRUE(
      tuner
          .Tune(problems_[0].problem,
                [&](const TuneProgress& progress) { seen.emplace(progress.stage, machine.held()); })
          .ok());

  using Stage = TuneProgress::Stage;
  EXPECT_EQ(seen, (std::set<std::pair<Stage, std::optional<MachineUse>>>{
                      {Stage::kEnumerate, std::nullopt},
                      {Stage::kReference, MachineUse::kPrepare},
                      {Stage::kQualify, MachineUse::kPrepare},
                      {Stage::kScreen, MachineUse::kTime},
                      {Stage::kFinal, MachineUse::kTime},
                      {Stage::kRecord, std::nullopt}}));
}

TEST_F(SharedListTest, WaitingForTheMachineEndsWithTheBudget) {
  BusyMachine machine(clock_, 1'000'000 * kSecondNs);
  parts_.machine = &machine;
  RunOptions run;
  run.budget_ns = 5 * kSecondNs;

  const std::vector<ProblemOutcome> outcomes = OutcomesOf(run);

  for (const ProblemOutcome& outcome : outcomes) EXPECT_EQ(outcome.kind, Kind::kNotReached);
  EXPECT_EQ(outcomes[0].message, "Another process measures.");
  EXPECT_EQ(clock_.NowNs(), 5 * kSecondNs);
}

TEST_F(SharedListTest, ARunThatIsStoppedDoesNotWaitForTheMachine) {
  BusyMachine machine(clock_, 1'000'000 * kSecondNs);
  parts_.machine = &machine;
  RunOptions run;
  run.stop_requested = [&] { return clock_.NowNs() >= 3 * kSecondNs; };

  EXPECT_EQ(TuneList(run), (std::vector<Kind>{Kind::kNotReached, Kind::kNotReached}));
}

TEST_F(SharedListTest, WhoGoesWithoutATurnSaysSo) {
  BusyMachine machine(clock_, 0);
  machine.GiveNone();
  parts_.machine = &machine;

  const auto report = Tuner(parts_, options_).Tune(problems_[0].problem);

  ASSERT_TRUE(report.ok() && report->choice.has_value());
  ASSERT_EQ(report->notes.size(), 2u);
  EXPECT_EQ(report->notes[0], "Another process has had the machine.");
}

// Runs that measure everything again and are stopped early.
class StoppedRetuneTest : public SharedListTest {
 protected:
  // Retunes until `count` more problems are begun; returns these problems.
  std::vector<Problem> Retune(const std::vector<TaggedProblem>& problems, size_t count) {
    const size_t before = ProblemsOfSets().size();
    std::vector<Problem> begun;
    RunOptions run;
    run.retune = true;
    run.stop_requested = [&] { return begun.size() >= count; };
    Tuner tuner(parts_, options_);
    const auto summary = TuneAll(tuner, problems, run, [&](const RunProgress& progress) {
      if (progress.finished != nullptr) begun.push_back(progress.finished->problem);
    });
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    EXPECT_LE(ProblemsOfSets().size(), before + count);
    for (size_t i = 0; summary.ok() && i < problems.size(); ++i) {
      EXPECT_EQ(summary->outcomes[i].problem, problems[i].problem);
    }
    return begun;
  }

  const Problem a_ = PackedGemm(8, 8, 8);
  const Problem b_ = PackedGemm(16, 16, 16);
  const Problem c_ = PackedGemm(24, 24, 24);
  const std::vector<TaggedProblem> list_ = {{a_, 1}, {b_, 1}, {c_, 1}};
};

TEST_F(StoppedRetuneTest, TheSameCommandGoesOn) {
  EXPECT_EQ(Retune(list_, 2), (std::vector<Problem>{a_, b_}));
  EXPECT_EQ(Retune(list_, 2), (std::vector<Problem>{c_, a_}));
  EXPECT_EQ(Retune(list_, 2), (std::vector<Problem>{b_, c_}));
}

TEST_F(StoppedRetuneTest, WhatEndedUndecidedWasMeasured) {
  time_ns_ = [](int64_t p) { return p == 1 ? 32e6 : 40e6; };
  options_.per_problem_ns = 4000 * kMillisecondNs;
  ASSERT_EQ(Retune(list_, 3), (std::vector<Problem>{a_, b_, c_}));
  options_.per_problem_ns = 200 * kMillisecondNs;
  ASSERT_EQ(Retune(list_, 1), (std::vector<Problem>{a_}));
  size_t unfinished = 0;
  const Status visited = store_.Visit({}, [&](const RecordedSet& set) {
    unfinished += set.finished ? 0 : 1;
    return Status::Ok();
  });
  ASSERT_TRUE(visited.ok());
  ASSERT_EQ(unfinished, 1u);

  EXPECT_EQ(Retune(list_, 1), (std::vector<Problem>{b_}));
}

TEST_F(StoppedRetuneTest, WhatCanNeverBeMeasuredKeepsNobodyFromTheirTurn) {
  std::vector<TaggedProblem> list = list_;
  for (int64_t size = 1; size <= 4; ++size) {
    list.push_back({PackedGemm(size, 1, 1), 1});
    evaluator_.Refuse(list.back().problem);
  }
  ASSERT_EQ(Retune(list_, 3), (std::vector<Problem>{a_, b_, c_}));

  const std::vector<Problem> begun = Retune(list, 100);

  // Three of those in a row, and then the others.
  EXPECT_EQ(begun.size(), 6u);
  EXPECT_EQ(std::vector<Problem>(begun.end() - 3, begun.end()), (std::vector<Problem>{a_, b_, c_}));
}

TEST_F(StoppedRetuneTest, AMachineThatCannotEvaluateAnyMoreEndsTheRun) {
  std::vector<TaggedProblem> list = list_;
  list.push_back({PackedGemm(32, 32, 32), 1});
  ASSERT_EQ(Retune(list, 4).size(), 4u);
  for (const TaggedProblem& tagged : list) evaluator_.Refuse(tagged.problem);

  EXPECT_EQ(Retune(list, 100).size(), 3u);
}

// As in sets from before the term existed, or as a later release may write it.
class UnknownTimeTest : public SharedListTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // Tunes and stores in a store of its own, with `time` for the term; without it if that is empty.
  void TuneBefore(const std::string& time) {
    MemoryStore before;
    parts_.store = &before;
    ASSERT_EQ(TuneListFor(200 * kMillisecondNs), kBothTuned);
    parts_.store = &store_;
    const Status copied = before.Visit({}, [&](const RecordedSet& recorded) {
      MeasurementSet set = recorded.set;
      set.environment.erase("tuning.per_problem_ns");
      if (!time.empty()) set.environment["tuning.per_problem_ns"] = time;
      std::vector<Trial> trials;
      for (const Record& record : recorded.records) trials.push_back(record.trial);
      ATTUNE_RETURN_IF_ERROR(store_.BeginSet(set));
      ATTUNE_RETURN_IF_ERROR(store_.Append(set.id, trials));
      return store_.FinishSet(set.id);
    });
    ASSERT_TRUE(copied.ok()) << copied.message();
  }
};

TEST_P(UnknownTimeTest, IsEnoughForEveryRun) {
  TuneBefore(GetParam());

  EXPECT_EQ(TuneListFor(1'000'000 * kMillisecondNs), kBothReused);
}

INSTANTIATE_TEST_SUITE_P(Terms, UnknownTimeTest,
                         ::testing::Values("", "-1", "2s", "99999999999999999999"));

}  // namespace
}  // namespace attune
