// Tunings that are interrupted and resume, on a fake clock and a store in memory.
#include "attune/tuner/cut_off.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/unix_time.h"
#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/new_set.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kConfigs = 200;

// Far from the default, with valleys on the way.
double TimeNs(int64_t p) {
  const double away = static_cast<double>(p > 143 ? p - 143 : 143 - p);
  return 2e5 + 2e3 * away + (p % 7 == 0 ? 5e4 : 0);
}

std::vector<RecordedSet> SetsOf(RecordStore& store) {
  std::vector<RecordedSet> sets;
  EXPECT_TRUE(store
                  .Visit({},
                         [&](const RecordedSet& recorded) {
                           sets.push_back(recorded);
                           return Status::Ok();
                         })
                  .ok());
  return sets;
}

// Config `p` of each qualified or failed candidate, in the order of storage.
std::vector<int64_t> Tried(const RecordedSet& recorded) {
  std::vector<int64_t> tried;
  for (const Record& record : recorded.records) {
    if (record.trial.role != TrialRole::kQualify) continue;
    tried.push_back(IntegerAt(record.trial.candidate.config, "p"));
  }
  return tried;
}

// Stores the first `count` trials of `recorded`, as if the tuning process had been killed then.
void Keep(RecordStore& store, const RecordedSet& recorded, size_t count) {
  ASSERT_TRUE(store.BeginSet(recorded.set).ok());
  for (size_t i = 0; i < count; ++i) {
    const Record& record = recorded.records.at(i);
    const Qualified result{record.trial, record.quick_ns};
    ASSERT_TRUE(store.AppendQualified(recorded.set.id, {&result, 1}).ok());
  }
}

class CutOffTest : public ::testing::Test {
 protected:
  CutOffTest() {
    solvers_.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted", kConfigs));
    options_.per_problem_ns = 100 * kSecondNs;
    options_.goes_on = true;
  }

  TuneReport Tune(RecordStore& store) {
    FakeClock clock;
    ScriptedEvaluator evaluator(TimeNs, 1, clock);
    evaluator.QualifyFairly();
    for (const auto& [p, kind] : failing_) evaluator.Fail(p, kind);
    TunerParts parts;
    parts.solvers = &solvers_;
    parts.store = &store;
    parts.evaluator = &evaluator;
    parts.clock = &clock;
    const auto report = Tuner(parts, options_).Tune(problem_);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.value_or(TuneReport());
  }

  // The set of a whole tuning, in which every config was tried.
  RecordedSet Whole() {
    MemoryStore store;
    Tune(store);
    return SetsOf(store).at(0);
  }

  const Problem problem_ = PackedGemm(64, 64, 64);
  SolverList solvers_;
  TuneOptions options_;
  std::map<int64_t, FailureKind> failing_;
};

TEST_F(CutOffTest, GoesOnToTheSamePlaceAndTriesNothingTwice) {
  for (const std::string searcher : {"local", "surrogate", "genetic", "random"}) {
    SCOPED_TRACE(searcher);
    options_.searcher = searcher;
    MemoryStore whole_store;
    const TuneReport whole = Tune(whole_store);
    const RecordedSet set = SetsOf(whole_store).at(0);
    ASSERT_THAT(Tried(set), SizeIs(kConfigs));
    constexpr size_t kBefore = 77;  // In the middle of a batch.
    MemoryStore store;
    Keep(store, set, kBefore);

    const TuneReport report = Tune(store);

    const std::vector<int64_t> all = Tried(set);
    EXPECT_EQ(Tried(SetsOf(store).at(1)), std::vector<int64_t>(all.begin() + kBefore, all.end()));
    EXPECT_EQ(report.taken_over, static_cast<int64_t>(kBefore));
    EXPECT_EQ(report.considered, whole.considered);
    ASSERT_TRUE(report.choice.has_value() && whole.choice.has_value());
    EXPECT_EQ(report.choice->candidate, whole.choice->candidate);
  }
}

TEST_F(CutOffTest, IsCutOffAgainAndAgain) {
  options_.searcher = "surrogate";
  const RecordedSet whole = Whole();
  const std::vector<int64_t> all = Tried(whole);
  MemoryStore store;
  Keep(store, whole, 30);
  MemoryStore second_store;
  Keep(second_store, whole, 30);
  Tune(second_store);
  const RecordedSet second = SetsOf(second_store).at(1);
  Keep(store, second, 40);

  const TuneReport report = Tune(store);

  EXPECT_EQ(report.taken_over, 70);
  EXPECT_EQ(Tried(SetsOf(store).at(2)), std::vector<int64_t>(all.begin() + 70, all.end()));
}

TEST_F(CutOffTest, FailuresCountByKindAndAreNotTriedAgain) {
  options_.searcher = "exhaustive";
  failing_ = {{3, FailureKind::kBuildFailed},
              {5, FailureKind::kCrashed},
              {8, FailureKind::kTimedOut},
              {150, FailureKind::kWrongResult}};
  const RecordedSet whole = Whole();
  MemoryStore store;
  Keep(store, whole, 100);

  const TuneReport report = Tune(store);

  EXPECT_THAT(
      report.failures,
      ElementsAre(std::pair(FailureKind::kBuildFailed, 1), std::pair(FailureKind::kWrongResult, 1),
                  std::pair(FailureKind::kCrashed, 1), std::pair(FailureKind::kTimedOut, 1)));
  EXPECT_EQ(report.quarantined, 0);
  EXPECT_THAT(Tried(SetsOf(store).at(1)), SizeIs(kConfigs - 100));
}

TEST_F(CutOffTest, WhatCrashedIsTriedAgainForWhoAsks) {
  options_.searcher = "exhaustive";
  failing_ = {{3, FailureKind::kBuildFailed}, {5, FailureKind::kCrashed}};
  const RecordedSet whole = Whole();
  MemoryStore store;
  Keep(store, whole, 100);
  failing_.clear();
  options_.retry_quarantined = true;

  const TuneReport report = Tune(store);

  EXPECT_EQ(report.taken_over, 99);
  EXPECT_THAT(report.failures, ElementsAre(std::pair(FailureKind::kBuildFailed, 1)));
  EXPECT_EQ(Tried(SetsOf(store).at(1)).front(), 5);
}

TEST_F(CutOffTest, TheTimeOfTheSearchCountsAndWhatItFoundIsRaced) {
  options_.searcher = "exhaustive";
  RecordedSet whole = Whole();
  whole.set.started_unix_ns = UnixNowNs() - 200 * kSecondNs;
  MemoryStore store;
  Keep(store, whole, 150);

  const TuneReport report = Tune(store);

  EXPECT_EQ(report.considered, 150);
  EXPECT_EQ(report.taken_over, 150);
  ASSERT_TRUE(report.choice.has_value());
  EXPECT_EQ(IntegerAt(report.choice->candidate.config, "p"), 143);
}

TEST_F(CutOffTest, ThoseOfBeforeCountAmongTheCandidatesThatAreAllowed) {
  options_.searcher = "random";
  const RecordedSet whole = Whole();
  MemoryStore store;
  Keep(store, whole, 50);
  options_.max_candidates = 60;

  const TuneReport report = Tune(store);

  EXPECT_EQ(report.considered, 60);
  const std::vector<int64_t> all = Tried(whole);
  EXPECT_EQ(Tried(SetsOf(store).at(1)), std::vector<int64_t>(all.begin() + 50, all.begin() + 60));
}

TEST_F(CutOffTest, NothingIsTakenOverUnlessItIsAskedFor) {
  const RecordedSet whole = Whole();
  MemoryStore store;
  Keep(store, whole, 100);
  options_.goes_on = false;

  EXPECT_EQ(Tune(store).taken_over, 0);
}

// FindCutOff on one set that differs from one that begins now.
class CutOffTermsTest : public ::testing::Test {
 protected:
  CutOffTermsTest() {
    parts_.target = {"opencl", "A Processor", "x86-64-v4", 2, {}};
    parts_.environment = {{"driver.opencl0", "3.1"},
                          {"driver.opencl0_platform", "PoCL 3.1 LLVM 15.0.6"},
                          {"host.kernel", "Linux 6.1"},
                          {"library.mine", "0123"}};
    result_.trial.candidate = {{"opencl.mine", 1}, {{"p", int64_t{3}}}};
    result_.trial.role = TrialRole::kQualify;
    result_.quick_ns = 1234.5;
  }

  MeasurementSet Set() const { return NewSet(problem_, parts_, options_); }

  // Number of candidates found in a set that `change` altered.
  size_t Found(const std::function<void(MeasurementSet&)>& change) {
    MemoryStore store;
    MeasurementSet set = Set();
    change(set);
    EXPECT_TRUE(store.BeginSet(set).ok());
    EXPECT_TRUE(store.AppendQualified(set.id, {&result_, 1}).ok());
    const auto past = FindCutOff(store, Set());
    return past.ok() ? past->results.size() : 99;
  }

  const Problem problem_ = PackedGemm(64, 64, 64);
  TunerParts parts_;
  TuneOptions options_;
  Qualified result_;
};

TEST_F(CutOffTermsTest, WhatDecidesAboutResultsHasToBeTheSame) {
  EXPECT_EQ(Found([](MeasurementSet&) {}), 1u);
  // Kernel source, arguments and tolerance are in the problem of a user's kernel.
  EXPECT_EQ(Found([](MeasurementSet& set) { set.problem = PackedGemm(64, 64, 65); }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.target.device = "Another"; }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.environment["driver.opencl0"] = "4.0"; }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) {
              set.environment["driver.opencl0_platform"] = "PoCL 3.1 LLVM 16";
            }),
            0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.environment["library.mine"] = "4567"; }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.environment.erase("library.mine"); }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.cache = CacheState::kCold; }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.attune_version = "0.0.1"; }), 0u);
}

TEST_F(CutOffTermsTest, AnotherSeedOrSearcherIsAnotherSearch) {
  EXPECT_EQ(Found([](MeasurementSet& set) { ++set.seed; }), 0u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.searcher = "random"; }), 0u);
}

TEST_F(CutOffTermsTest, NeitherFactsOfTheHostNorMoreTimeMatter) {
  EXPECT_EQ(Found([](MeasurementSet& set) { set.environment["host.kernel"] = "Linux 6.2"; }), 1u);
  EXPECT_EQ(Found([](MeasurementSet& set) { set.environment["tuning.per_problem_ns"] = "7"; }), 1u);
}

TEST_F(CutOffTermsTest, MoreCandidatesGoOnWhereFewerWereAllowed) {
  EXPECT_EQ(Found([](MeasurementSet& set) { set.environment["tuning.max_candidates"] = "7"; }), 1u);
}

TEST_F(CutOffTermsTest, APassedOneWithoutAQuickTimeIsTriedAgain) {
  result_.quick_ns = 0;
  EXPECT_EQ(Found([](MeasurementSet&) {}), 0u);
  result_.trial.outcome = Failure{FailureKind::kBuildFailed, Phase::kBuild, "no"};
  EXPECT_EQ(Found([](MeasurementSet&) {}), 1u);
}

TEST_F(CutOffTermsTest, WhatCameToADecisionIsNotGoneOnWith) {
  MemoryStore store;
  const auto begin = [&] {
    const MeasurementSet set = Set();
    EXPECT_TRUE(store.BeginSet(set).ok());
    EXPECT_TRUE(store.AppendQualified(set.id, {&result_, 1}).ok());
    return set.id;
  };
  const auto append_final = [&](const std::string& id) {
    Trial trial = result_.trial;
    trial.role = TrialRole::kFinal;
    trial.outcome = Measurement{.samples_ns = {1000}, .median_ns = 1000};
    EXPECT_TRUE(store.Append(id, {&trial, 1}).ok());
  };

  // Killed between its final and its decision, without an earlier decision.
  const std::string first = begin();
  append_final(first);
  EXPECT_THAT(FindCutOff(store, Set())->results, SizeIs(1));

  EXPECT_TRUE(store.FinishSet(first).ok());
  EXPECT_THAT(FindCutOff(store, Set())->results, IsEmpty());

  const std::string second = begin();
  EXPECT_THAT(FindCutOff(store, Set())->results, SizeIs(1));

  // The incumbent stays: the set is left open.
  append_final(second);
  EXPECT_THAT(FindCutOff(store, Set())->results, IsEmpty());
}

TEST_F(CutOffTermsTest, WhoFailedInTheRacePassedBeforeIt) {
  MemoryStore store;
  const MeasurementSet set = Set();
  ASSERT_TRUE(store.BeginSet(set).ok());
  ASSERT_TRUE(store.AppendQualified(set.id, {&result_, 1}).ok());
  Trial trial = result_.trial;
  trial.role = TrialRole::kScreen;
  trial.outcome = Failure{FailureKind::kRunFailed, Phase::kMeasure, "No child to measure in."};
  ASSERT_TRUE(store.Append(set.id, {&trial, 1}).ok());

  const auto past = FindCutOff(store, Set());

  ASSERT_THAT(past->results, SizeIs(1));
  EXPECT_EQ(past->results.begin()->second, result_);
}

TEST_F(CutOffTest, WhoCrashedInTheRaceIsLeftOut) {
  options_.searcher = "exhaustive";
  const RecordedSet whole = Whole();
  MemoryStore store;
  Keep(store, whole, 100);
  Trial crashed = whole.records.at(50).trial;
  crashed.role = TrialRole::kScreen;
  crashed.outcome = Failure{FailureKind::kCrashed, Phase::kMeasure, "signal 11"};
  ASSERT_TRUE(store.Append(whole.set.id, {&crashed, 1}).ok());

  const TuneReport report = Tune(store);

  EXPECT_EQ(report.taken_over, 99);
  EXPECT_EQ(report.quarantined, 1);
}

}  // namespace
}  // namespace attune
