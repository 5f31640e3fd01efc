// The contract of every RecordStore. Each store is one line at the end.
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/fingerprint.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/other_op.h"
#include "attune/record/memory_store.h"
#include "attune/record/rules.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

struct StoreKind {
  std::string name;
  std::function<Result<std::unique_ptr<RecordStore>>(const std::filesystem::path& folder)> open;
};

void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }

class RecordStoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    auto store = GetParam().open(folder_.path());
    if (!store.ok() && store.error().code() == StatusCode::kNotFound) {
      GTEST_SKIP() << store.error().message();
    }
    ASSERT_TRUE(store.ok()) << store.error().message();
    store_ = std::move(*store);
  }

  MeasurementSet Begun(int64_t problem_index, int64_t started_unix_ns) {
    MeasurementSet set = SampleSet(problem_index, started_unix_ns, random_);
    EXPECT_EQ(store_->BeginSet(set), Status::Ok());
    return set;
  }

  TemporaryFolder folder_;
  std::unique_ptr<RecordStore> store_;
  Random random_{1};
};

TEST_P(RecordStoreTest, NewStoreIsEmpty) {
  EXPECT_THAT(store_->Problems("").value(), IsEmpty());
  EXPECT_THAT(store_->Tags().value(), IsEmpty());
  EXPECT_THAT(Collected(*store_).value(), IsEmpty());
}

TEST_P(RecordStoreTest, ProblemsComeBackInTheOrderInWhichTheyWereAdded) {
  std::vector<TaggedProblem> problems = SampleProblems(300);
  std::reverse(problems.begin(), problems.end());

  ASSERT_EQ(store_->AddProblems("resnet50", problems), Status::Ok());

  EXPECT_EQ(store_->Problems("resnet50").value(), problems);
}

TEST_P(RecordStoreTest, EveryOperatorComesBack) {
  Conv conv;
  conv.batch = 2;
  conv.in = {1, 8, 8};
  const OtherOp other{"bnorm", {{"mode", "1"}, {"note", "a b%=,{}\n"}}};
  const std::vector<TaggedProblem> problems = {{conv, 1}, {other, 2}, {SampleProblem(3), 3}};

  ASSERT_EQ(store_->AddProblems("mixed", problems), Status::Ok());

  EXPECT_EQ(store_->Problems("mixed").value(), problems);
}

TEST_P(RecordStoreTest, AddingAgainReplacesTheWeightAndKeepsTheOrder) {
  ASSERT_EQ(store_->AddProblems("t", SampleProblems(3)), Status::Ok());
  const std::vector<TaggedProblem> again = {{SampleProblem(1), 40}, {SampleProblem(1), 50}};

  ASSERT_EQ(store_->AddProblems("t", again), Status::Ok());

  const std::vector<TaggedProblem> expected = {
      {SampleProblem(0), 1}, {SampleProblem(1), 50}, {SampleProblem(2), 3}};
  EXPECT_EQ(store_->Problems("t").value(), expected);
  EXPECT_THAT(store_->Tags().value(), ElementsAre(Pair("t", 3)));
}

TEST_P(RecordStoreTest, TagsAreSortedAndCounted) {
  ASSERT_EQ(store_->AddProblems("vgg", SampleProblems(4)), Status::Ok());
  ASSERT_EQ(store_->AddProblems("alex", SampleProblems(2)), Status::Ok());
  ASSERT_EQ(store_->AddProblems("empty", {}), Status::Ok());

  EXPECT_THAT(store_->Tags().value(),
              ElementsAre(Pair("alex", 2), Pair("empty", 0), Pair("vgg", 4)));
}

TEST_P(RecordStoreTest, TagsMayHoldAnyBytesAndDifferInCase) {
  const std::string odd("a\0\xff'; DROP TABLE tag;--\xC3\xB6", 25);
  ASSERT_EQ(store_->AddProblems(odd, SampleProblems(1)), Status::Ok());
  ASSERT_EQ(store_->AddProblems("x", SampleProblems(1)), Status::Ok());
  ASSERT_EQ(store_->AddProblems("X", SampleProblems(2)), Status::Ok());

  EXPECT_THAT(store_->Tags().value(), ElementsAre(Pair("X", 2), Pair(odd, 1), Pair("x", 1)));
  EXPECT_EQ(store_->Problems(odd).value(), SampleProblems(1));
}

TEST_P(RecordStoreTest, BadTagsAndWeightsAreRefusedAsAWhole) {
  const std::vector<TaggedProblem> bad = {{SampleProblem(0), 1}, {SampleProblem(1), 0}};

  EXPECT_EQ(store_->AddProblems("", SampleProblems(1)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->AddProblems(std::string(81, 'x'), SampleProblems(1)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->AddProblems("t", bad).code(), StatusCode::kInvalidArgument);

  EXPECT_THAT(store_->Problems("").value(), IsEmpty());
}

TEST_P(RecordStoreTest, AllProblemsHaveTheSumOfTheirWeightsAndAtLeastOne) {
  ASSERT_EQ(store_->AddProblems("a", std::vector<TaggedProblem>{{SampleProblem(0), 2}}),
            Status::Ok());
  ASSERT_EQ(store_->AddProblems("b", std::vector<TaggedProblem>{{SampleProblem(0), 3}}),
            Status::Ok());
  Begun(5, 1);

  const std::vector<TaggedProblem> expected = {{SampleProblem(0), 5}, {SampleProblem(5), 1}};
  EXPECT_EQ(store_->Problems("").value(), expected);
}

TEST_P(RecordStoreTest, UnknownTagHasNoProblemsAndNoSets) {
  Begun(0, 1);
  RecordQuery query;
  query.tag = "nobody";

  EXPECT_THAT(store_->Problems("nobody").value(), IsEmpty());
  EXPECT_THAT(Collected(*store_, query).value(), IsEmpty());
}

TEST_P(RecordStoreTest, SetsAndTrialsComeBackBitForBit) {
  const MeasurementSet set = Begun(7, 123);
  const std::vector<Trial> trials = SampleTrials(200, random_);

  ASSERT_EQ(store_->Append(set.id, trials), Status::Ok());

  const auto sets = Collected(*store_).value();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].set, set);
  EXPECT_FALSE(sets[0].finished);
  EXPECT_EQ(TrialsOf(sets[0]), trials);
}

TEST_P(RecordStoreTest, ExtremeNumbersComeBack) {
  const MeasurementSet set = Begun(0, std::numeric_limits<int64_t>::min());
  Trial trial = SampleMeasured(TrialRole::kFinal, 0, random_);
  Measurement& measurement = std::get<Measurement>(trial.outcome);
  measurement.samples_ns = {0, -0.0, 5e-324, 0.1, 1e300, std::numeric_limits<double>::max()};
  measurement.median_ns = 0;
  measurement.high_ns = std::numeric_limits<double>::max();
  trial.build_ns = std::numeric_limits<int64_t>::max();
  trial.max_error = std::numeric_limits<double>::infinity();

  ASSERT_EQ(store_->Append(set.id, {&trial, 1}), Status::Ok());

  const auto sets = Collected(*store_).value();
  EXPECT_EQ(sets.at(0).set.started_unix_ns, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(TrialsOf(sets[0]), std::vector{trial});
}

TEST_P(RecordStoreTest, AsManySamplesAsAllowedAreKeptAndMoreAreRefused) {
  const MeasurementSet set = Begun(0, 1);
  const Trial full = SampleMeasured(TrialRole::kFinal, Measurement::kMaxSamples, random_);
  const Trial overfull = SampleMeasured(TrialRole::kFinal, Measurement::kMaxSamples + 1, random_);

  EXPECT_EQ(store_->Append(set.id, {&full, 1}), Status::Ok());
  EXPECT_EQ(store_->Append(set.id, {&overfull, 1}).code(), StatusCode::kInvalidArgument);

  EXPECT_EQ(TrialsOf(Collected(*store_).value().at(0)), std::vector{full});
}

TEST_P(RecordStoreTest, NumbersThatAreNoTimesAreRefusedAndTheWholeBatchWithThem) {
  const MeasurementSet set = Begun(0, 1);
  std::vector<Trial> trials = SampleTrials(3, random_);
  trials.push_back(SampleMeasured(TrialRole::kFinal, 3, random_));
  std::get<Measurement>(trials[3].outcome).samples_ns[1] = std::nan("");

  const Status status = store_->Append(set.id, trials);

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("Trial 4 of 4"));
  EXPECT_THAT(status.message(), HasSubstr("Sample 1"));
  EXPECT_THAT(Collected(*store_).value().at(0).records, IsEmpty());
}

TEST_P(RecordStoreTest, AnErrorThatIsNotANumberIsKeptAsInfinite) {
  const MeasurementSet set = Begun(0, 1);
  Trial trial = SampleFailed(random_);
  trial.max_error = std::nan("");

  ASSERT_EQ(store_->Append(set.id, {&trial, 1}), Status::Ok());

  const auto sets = Collected(*store_).value();
  EXPECT_EQ(sets.at(0).records.at(0).trial.max_error, std::numeric_limits<double>::infinity());
}

TEST_P(RecordStoreTest, LongMessagesAreCutWithANote) {
  const MeasurementSet set = Begun(0, 1);
  Trial trial = SampleFailed(random_);
  std::get<Failure>(trial.outcome).message = std::string(1'000'000, 'e');

  ASSERT_EQ(store_->Append(set.id, {&trial, 1}), Status::Ok());

  const auto sets = Collected(*store_).value();
  const Trial& kept = sets.at(0).records.at(0).trial;
  EXPECT_EQ(kept.failure()->message.size(), kMaxMessageBytes);
  EXPECT_THAT(kept.failure()->message, HasSubstr("cut from 1000000 bytes"));
}

TEST_P(RecordStoreTest, RevisionsIncreaseOverAllSets) {
  const MeasurementSet first = Begun(0, 1);
  const MeasurementSet second = Begun(1, 2);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(store_->Append(first.id, SampleTrials(3, random_)), Status::Ok());
    ASSERT_EQ(store_->Append(second.id, SampleTrials(3, random_)), Status::Ok());
  }

  const auto sets = Collected(*store_).value();

  ASSERT_EQ(sets.size(), 2u);
  for (size_t i = 0; i < 15; ++i) {
    const int64_t in_first = sets[0].records[i].revision;
    const int64_t in_second = sets[1].records[i].revision;
    EXPECT_LT(in_first, in_second);
    EXPECT_GT(sets[0].records[i].appended_unix_ns, 0);
    if (i + 3 < 15) {
      EXPECT_LT(in_second, sets[0].records[i + 3].revision);
    }
  }
}

TEST_P(RecordStoreTest, BeginningTheSameSetAgainChangesNothing) {
  const MeasurementSet set = Begun(0, 1);
  ASSERT_EQ(store_->Append(set.id, SampleTrials(3, random_)), Status::Ok());

  EXPECT_EQ(store_->BeginSet(set), Status::Ok());

  const auto sets = Collected(*store_).value();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].records.size(), 3u);
}

TEST_P(RecordStoreTest, OneIdCannotBeTwoSets) {
  MeasurementSet set = Begun(0, 1);
  set.environment["library.onednn"] = "3.0";

  EXPECT_EQ(store_->BeginSet(set).code(), StatusCode::kInvalidArgument);
  set.id = "not an id";
  EXPECT_EQ(store_->BeginSet(set).code(), StatusCode::kInvalidArgument);

  EXPECT_EQ(Collected(*store_).value().size(), 1u);
}

TEST_P(RecordStoreTest, UnknownSetsAreNotFound) {
  const std::string id(32, '0');

  EXPECT_EQ(store_->Append(id, SampleTrials(1, random_)).code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->FinishSet(id).code(), StatusCode::kNotFound);
}

TEST_P(RecordStoreTest, FinishedSetsStayFinishedAndTakeNoMoreTrials) {
  const MeasurementSet set = Begun(0, 1);
  ASSERT_EQ(store_->FinishSet(set.id), Status::Ok());

  EXPECT_EQ(store_->FinishSet(set.id), Status::Ok());
  EXPECT_EQ(store_->BeginSet(set), Status::Ok());
  EXPECT_EQ(store_->Append(set.id, SampleTrials(1, random_)).code(),
            StatusCode::kFailedPrecondition);

  const auto sets = Collected(*store_).value();
  EXPECT_TRUE(sets.at(0).finished);
  EXPECT_THAT(sets[0].records, IsEmpty());
}

TEST_P(RecordStoreTest, ConditionsComeBackAndLaterOnesReplaceThem) {
  const MeasurementSet set = Begun(0, 1);
  const MeasurementSet other = Begun(0, 2);
  ASSERT_EQ(store_->NoteConditions(set.id, SampleConditions(random_)), Status::Ok());
  const SetConditions conditions = SampleConditions(random_);

  ASSERT_EQ(store_->NoteConditions(set.id, conditions), Status::Ok());
  ASSERT_EQ(store_->FinishSet(set.id), Status::Ok());

  const auto sets = Collected(*store_).value();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].conditions, conditions);
  EXPECT_TRUE(sets[1].conditions.empty());
}

TEST_P(RecordStoreTest, AMomentAtWhichTheDeviceToldNothingIsAbsent) {
  const MeasurementSet set = Begun(0, 1);
  SetConditions conditions;
  conditions.before = DeviceConditions();
  conditions.after = DeviceConditions();
  conditions.after->clock_reasons.emplace();

  ASSERT_EQ(store_->NoteConditions(set.id, conditions), Status::Ok());

  const SetConditions kept = Collected(*store_).value().at(0).conditions;
  EXPECT_FALSE(kept.before.has_value());
  ASSERT_TRUE(kept.after.has_value());
  EXPECT_TRUE(kept.after->clock_reasons.has_value());
  EXPECT_FALSE(kept.after->power_w.has_value());
}

TEST_P(RecordStoreTest, ImpossibleConditionsAndThoseOfFinishedOrUnknownSetsAreRefused) {
  const MeasurementSet set = Begun(0, 1);
  const SetConditions good = SampleConditions(random_);
  SetConditions bad = good;
  bad.before->power_w = std::numeric_limits<double>::infinity();

  const Status refused = store_->NoteConditions(set.id, bad);

  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("power_w is inf"));
  EXPECT_EQ(store_->NoteConditions(std::string(32, '0'), good).code(), StatusCode::kNotFound);
  ASSERT_EQ(store_->FinishSet(set.id), Status::Ok());
  EXPECT_EQ(store_->NoteConditions(set.id, good).code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Collected(*store_).value().at(0).conditions.empty());
}

std::vector<std::string> IdsAfter(RecordStore& store, int64_t revision, RecordQuery query = {}) {
  query.after_revision = revision;
  const auto sets = Collected(store, query).value();
  std::vector<std::string> ids;
  for (const RecordedSet& recorded : sets) ids.push_back(recorded.set.id);
  return ids;
}

TEST_P(RecordStoreTest, AStoreHasAnIdThatNoOtherHas) {
  TemporaryFolder other_folder;
  const auto other = GetParam().open(other_folder.path());

  const StoreState state = store_->State().value();

  EXPECT_TRUE(Fingerprint::FromHex(state.database_id).has_value()) << state.database_id;
  EXPECT_EQ(state.last_revision, 0);
  EXPECT_EQ(store_->State().value(), state);
  EXPECT_NE((*other)->State().value().database_id, state.database_id);
}

TEST_P(RecordStoreTest, OnlySetsWithSomethingNewerThanARevisionAreVisitedAndThenWhole) {
  const MeasurementSet first = Begun(0, 1);
  const MeasurementSet second = Begun(1, 2);
  ASSERT_EQ(store_->Append(first.id, SampleTrials(3, random_)), Status::Ok());
  ASSERT_EQ(store_->Append(second.id, SampleTrials(3, random_)), Status::Ok());
  const int64_t revision = store_->State().value().last_revision;
  ASSERT_EQ(store_->Append(first.id, SampleTrials(2, random_)), Status::Ok());
  RecordQuery query;
  query.after_revision = revision;

  const auto sets = Collected(*store_, query).value();

  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].set, first);
  EXPECT_EQ(sets[0].records.size(), 5u);
  EXPECT_THAT(IdsAfter(*store_, store_->State().value().last_revision), IsEmpty());
}

TEST_P(RecordStoreTest, TheRevisionsOfRecordsAreTheOnesThatAQueryCompares) {
  const MeasurementSet first = Begun(0, 1);
  const MeasurementSet second = Begun(1, 2);
  ASSERT_EQ(store_->Append(first.id, SampleTrials(2, random_)), Status::Ok());
  ASSERT_EQ(store_->Append(second.id, SampleTrials(2, random_)), Status::Ok());
  const auto sets = Collected(*store_).value();
  const int64_t last_of_first = sets.at(0).records.back().revision;
  const int64_t last_of_second = sets.at(1).records.back().revision;

  EXPECT_THAT(IdsAfter(*store_, last_of_first - 1), ElementsAre(first.id, second.id));
  EXPECT_THAT(IdsAfter(*store_, last_of_first), ElementsAre(second.id));
  EXPECT_THAT(IdsAfter(*store_, last_of_second), IsEmpty());
}

TEST_P(RecordStoreTest, TheEndOfASetIsNewsOnceAndHasARevision) {
  const MeasurementSet set = Begun(0, 1);
  ASSERT_EQ(store_->Append(set.id, SampleTrials(3, random_)), Status::Ok());
  const int64_t appended = store_->State().value().last_revision;

  ASSERT_EQ(store_->FinishSet(set.id), Status::Ok());

  EXPECT_THAT(IdsAfter(*store_, appended), ElementsAre(set.id));
  const int64_t finished = store_->State().value().last_revision;
  EXPECT_GT(finished, appended);
  EXPECT_EQ(store_->FinishSet(set.id), Status::Ok());
  EXPECT_EQ(store_->State().value().last_revision, finished);
}

TEST_P(RecordStoreTest, QueriesByRevisionKeepTheOrderAndTheOtherRestrictions) {
  ASSERT_EQ(store_->AddProblems("t", std::vector<TaggedProblem>{{SampleProblem(2), 1}}),
            Status::Ok());
  const MeasurementSet old = Begun(2, 1);
  ASSERT_EQ(store_->Append(old.id, SampleTrials(1, random_)), Status::Ok());
  const int64_t revision = store_->State().value().last_revision;
  const MeasurementSet late = Begun(2, 30);
  const MeasurementSet other = Begun(0, 20);
  const MeasurementSet early = Begun(2, 10);
  for (const MeasurementSet* set : {&late, &other, &early}) {
    ASSERT_EQ(store_->Append(set->id, SampleTrials(1, random_)), Status::Ok());
  }
  ASSERT_EQ(store_->FinishSet(early.id), Status::Ok());
  RecordQuery by_tag;
  by_tag.tag = "t";
  RecordQuery by_problem;
  by_problem.problem = SampleProblem(0);
  RecordQuery by_state;
  by_state.finished_only = true;

  EXPECT_THAT(IdsAfter(*store_, revision), ElementsAre(early.id, late.id, other.id));
  EXPECT_THAT(IdsAfter(*store_, revision, by_tag), ElementsAre(early.id, late.id));
  EXPECT_THAT(IdsAfter(*store_, revision, by_problem), ElementsAre(other.id));
  EXPECT_THAT(IdsAfter(*store_, revision, by_state), ElementsAre(early.id));
}

TEST_P(RecordStoreTest, SetsAreGroupedByProblemAndOrderedByTheirStart) {
  ASSERT_EQ(store_->AddProblems("t", SampleProblems(3)), Status::Ok());
  Begun(2, 10);
  Begun(0, 30);
  Begun(2, 5);
  Begun(0, 20);

  const auto sets = Collected(*store_).value();

  std::vector<std::pair<Problem, int64_t>> order;
  for (const RecordedSet& recorded : sets) {
    order.emplace_back(recorded.set.problem, recorded.set.started_unix_ns);
  }
  EXPECT_THAT(order, ElementsAre(Pair(SampleProblem(0), 20), Pair(SampleProblem(0), 30),
                                 Pair(SampleProblem(2), 5), Pair(SampleProblem(2), 10)));
}

TEST_P(RecordStoreTest, QueriesRestrictByProblemTagBackendAndState) {
  ASSERT_EQ(store_->AddProblems("t", std::vector<TaggedProblem>{{SampleProblem(1), 1}}),
            Status::Ok());
  const MeasurementSet first = Begun(0, 1);
  const MeasurementSet second = Begun(1, 2);
  MeasurementSet third = SampleSet(1, 3, random_);
  third.target.backend = "opencl";
  ASSERT_EQ(store_->BeginSet(third), Status::Ok());
  ASSERT_EQ(store_->FinishSet(second.id), Status::Ok());
  const auto ids = [&](const RecordQuery& query) {
    std::vector<std::string> found;
    const auto sets = Collected(*store_, query).value();
    for (const RecordedSet& recorded : sets) found.push_back(recorded.set.id);
    return found;
  };
  RecordQuery by_problem;
  by_problem.problem = SampleProblem(0);
  RecordQuery by_tag;
  by_tag.tag = "t";
  RecordQuery by_backend;
  by_backend.backend = "opencl";
  RecordQuery by_state;
  by_state.finished_only = true;
  RecordQuery by_all = by_tag;
  by_all.problem = SampleProblem(0);

  EXPECT_THAT(ids(by_problem), ElementsAre(first.id));
  EXPECT_THAT(ids(by_tag), ElementsAre(second.id, third.id));
  EXPECT_THAT(ids(by_backend), ElementsAre(third.id));
  EXPECT_THAT(ids(by_state), ElementsAre(second.id));
  EXPECT_THAT(ids(by_all), IsEmpty());
}

TEST_P(RecordStoreTest, QueriesRestrictByRoleAndLeaveSamplesOut) {
  const MeasurementSet set = Begun(0, 1);
  const std::vector<Trial> trials = SampleTrials(50, random_);
  ASSERT_EQ(store_->Append(set.id, trials), Status::Ok());
  RecordQuery query;
  query.roles = {TrialRole::kFinal, TrialRole::kScreen};
  query.with_samples = false;

  const auto sets = Collected(*store_, query).value();

  std::vector<Trial> expected;
  for (Trial trial : trials) {
    if (trial.role == TrialRole::kQualify) continue;
    std::get<Measurement>(trial.outcome).samples_ns.clear();
    expected.push_back(trial);
  }
  EXPECT_EQ(TrialsOf(sets.at(0)), expected);
}

TEST_P(RecordStoreTest, WhatQualifiedKeepsItsTimesAndNothingElseHasAny) {
  const MeasurementSet set = Begun(0, 1);
  Trial passed = SampleMeasured(TrialRole::kQualify, 1, random_);
  passed.outcome = std::monostate();
  const Trial failed = SampleFailed(random_);
  const std::vector<Qualified> right = {
      {passed, 1234.5678901, {}, 5}, {failed, 0, {}, 20'000'000'001}, {passed, 0}};
  ASSERT_EQ(store_->AppendQualified(set.id, right), Status::Ok());
  const Trial final = SampleMeasured(TrialRole::kFinal, 2, random_);
  for (const Qualified& wrong :
       std::vector<Qualified>{{passed, -1}, {failed, 5}, {final, 5}, {passed, 5, {}, -1}}) {
    EXPECT_EQ(store_->AppendQualified(set.id, {&wrong, 1}).code(), StatusCode::kInvalidArgument);
  }

  const auto sets = Collected(*store_).value();
  std::vector<Qualified> kept;
  for (const Record& record : sets.at(0).records) {
    kept.push_back({record.trial, record.quick_ns, {}, record.verify_ns});
  }
  EXPECT_EQ(kept, right);
}

TEST_P(RecordStoreTest, AFailureOfTheVisitorEndsTheVisitAndComesBack) {
  Begun(0, 1);
  Begun(1, 2);
  int visits = 0;

  const Status status = store_->Visit({}, [&](const RecordedSet&) {
    ++visits;
    return Unavailable("enough");
  });

  EXPECT_EQ(status, Unavailable("enough"));
  EXPECT_EQ(visits, 1);
  EXPECT_EQ(Collected(*store_).value().size(), 2u);
}

TEST_P(RecordStoreTest, TheVisitorMayReadAndWriteTheStore) {
  const MeasurementSet set = Begun(0, 1);
  const Trial trial = SampleMeasured(TrialRole::kFinal, 2, random_);

  const Status status = store_->Visit({}, [&](const RecordedSet&) -> Status {
    EXPECT_EQ(Collected(*store_).value().size(), 1u);
    return store_->Append(set.id, {&trial, 1});
  });

  EXPECT_EQ(status, Status::Ok());
  EXPECT_EQ(TrialsOf(Collected(*store_).value().at(0)), std::vector{trial});
}

TEST_P(RecordStoreTest, ThreadsWriteAndReadAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kBatches = 10;
  std::vector<MeasurementSet> sets;
  for (int i = 0; i < kThreads; ++i) sets.push_back(Begun(i, i));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Random random(static_cast<uint64_t>(i));
      for (int batch = 0; batch < kBatches; ++batch) {
        EXPECT_EQ(store_->Append(sets[i].id, SampleTrials(5, random)), Status::Ok());
        EXPECT_EQ(Collected(*store_).value().size(), size_t{kThreads});
      }
    });
  }

  for (std::thread& thread : threads) thread.join();

  const auto collected = Collected(*store_).value();
  for (const RecordedSet& recorded : collected) {
    EXPECT_EQ(recorded.records.size(), size_t{kBatches * 5});
  }
}

std::vector<StoreKind> StoreKinds() {
  std::vector<StoreKind> kinds = {
      {"Memory", [](const std::filesystem::path&) -> Result<std::unique_ptr<RecordStore>> {
         return std::unique_ptr<RecordStore>(std::make_unique<MemoryStore>());
       }}};
  for (const DatabaseKind kind : DatabaseKinds()) {
    kinds.push_back(
        {NameOfKind({kind, 0}),
         [kind](const std::filesystem::path& folder) -> Result<std::unique_ptr<RecordStore>> {
           ATTUNE_ASSIGN_OR_RETURN(const std::string url, NewDatabase(kind, folder));
           return OpenSqlStore(url, OptionsForServers());
         }});
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Stores, RecordStoreTest, ::testing::ValuesIn(StoreKinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace attune
