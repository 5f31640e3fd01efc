#include "apps/attune/session/record_place.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/choices.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const SolverId kBlas = {"host.openblas-gemm", 1};
const SolverId kPacked = {"host.packed-gemm", 1};
const SolverId kPlain = {"host.plain-gemm", 1};  // A last resort, which no table has.

SolverEntry EntryOf(const SolverId& solver, Environment code) {
  SolverEntry entry;
  entry.solver = solver;
  entry.operator_name = "gemm";
  entry.code = std::move(code);
  return entry;
}

Trial FinalOf(const SolverId& solver, double time_ns, bool is_default) {
  Trial trial;
  trial.candidate.solver = solver;
  trial.role = TrialRole::kFinal;
  trial.is_default = is_default;
  Measurement measurement;
  measurement.samples_ns.assign(20, time_ns);
  measurement.median_ns = measurement.low_ns = measurement.high_ns = time_ns;
  measurement.confidence = 0.99;
  measurement.cache = CacheState::kCold;
  trial.outcome = std::move(measurement);
  return trial;
}

// A session of a processor that is not this one.
class RecordPlaceTest : public testing::Test {
 protected:
  RecordPlaceTest() {
    target_ = SampleTarget();
    target_.device = "A processor of another machine";
    maker_.SetDatabase(path_);
    EXPECT_TRUE(maker_.store().ok());
    session_.name = "away";
    session_.terms = {target_.backend, target_.arch, target_, {{"library.openblas", "0.3.21"}}};
    session_ = *maker_.sessions()->Create(session_);
    Know({EntryOf(kBlas, {{"library.openblas", "0.3.21"}}),
          EntryOf(kPacked, {{"library.packed", "a"}})});
    reader_.SetDatabase(path_);
    reader_.UseSession("away");
  }

  void Know(const std::vector<SolverEntry>& entries) {
    EXPECT_TRUE(maker_.sessions()->UpdateSolvers(session_.id, entries).ok());
  }
  // A decision between two, the second of which is faster.
  void Measure(const SolverId& usual, const SolverId& winner) {
    MeasurementSet set = SampleSet(3, 1, random_);
    set.target = target_;
    set.environment = {{"library.openblas", "0.3.21"}, {"library.packed", "a"}};
    RecordStore& records = maker_.all_records();
    ASSERT_TRUE(maker_.sessions()->BeginSet(session_.id, set).ok());
    const std::vector<Trial> trials = {FinalOf(usual, 2000, true), FinalOf(winner, 1000, false)};
    ASSERT_TRUE(records.Append(set.id, trials).ok());
    ASSERT_TRUE(records.FinishSet(set.id).ok());
  }
  ChosenProblem Chosen(const RecordPlace& where) {
    const auto chosen =
        ChooseAll(**reader_.StoreToRead(), where.place, {}, {{SampleProblem(3), 1}});
    EXPECT_THAT(*chosen, SizeIs(1));
    return chosen->front();
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "attune.db";
  Random random_{7};
  Target target_;
  Session session_;
  Application maker_;
  Application reader_;
};

TEST_F(RecordPlaceTest, WhatHoldsOnTheDeviceHoldsWhereItIsNot) {
  Measure(kBlas, kPacked);

  const auto where = FindRecordPlace(reader_, "");

  ASSERT_TRUE(where.ok()) << where.error().message();
  EXPECT_FALSE(where->has_device());
  EXPECT_EQ(where->place.target, target_);
  const ChosenProblem chosen = Chosen(*where);
  ASSERT_TRUE(chosen.choice.has_value());
  EXPECT_EQ(chosen.choice->candidate.solver, kPacked);
  EXPECT_EQ(chosen.baseline_note, "");
}

TEST_F(RecordPlaceTest, ALastResortThatNoTableHasMayBeTheDefault) {
  Measure(kPlain, kPacked);

  const auto where = FindRecordPlace(reader_, "");

  const ChosenProblem chosen = Chosen(*where);
  ASSERT_TRUE(chosen.choice.has_value());
  EXPECT_EQ(chosen.choice->default_candidate.solver, kPlain);
}

TEST_F(RecordPlaceTest, WhatASolverMadeBeforeItChangedDoesNotHold) {
  Measure(kBlas, kPacked);
  const SolverEntry blas = EntryOf(kBlas, {{"library.openblas", "0.3.21"}});
  const std::vector<std::vector<SolverEntry>> changes = {
      {blas, EntryOf(kPacked, {{"library.packed", "b"}})},
      {blas, EntryOf({"host.packed-gemm", 2}, {{"library.packed", "a"}})},
      {blas}};
  for (const std::vector<SolverEntry>& change : changes) {
    Know(change);

    const ChosenProblem chosen = Chosen(*FindRecordPlace(reader_, ""));

    EXPECT_FALSE(chosen.choice.has_value());
    EXPECT_TRUE(NobodyTells(chosen));
    EXPECT_THAT(chosen.notes, SizeIs(1));
    EXPECT_THAT(chosen.supported.message(), HasSubstr("its device is not here"));
  }
}

TEST_F(RecordPlaceTest, ASessionWithoutAMeasurementHasNothingToShow) {
  Session bare;
  bare.name = "bare";
  bare.terms = {"elsewhere", "none", std::nullopt, {}};
  ASSERT_TRUE(maker_.sessions()->Create(bare).ok());
  Application reader;
  reader.SetDatabase(path_);
  reader.UseSession("bare");

  const auto where = FindRecordPlace(reader, "");

  EXPECT_EQ(where.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(where.status().message(), HasSubstr("'bare' yet, which is for none of elsewhere"));
}

TEST_F(RecordPlaceTest, KernelsAreNeededOnceASolverCompiles) {
  const Status why = NotFound("Nothing compiles here.");
  EXPECT_TRUE(CheckHaveNoKernels(maker_, {"away"}, "session 'away'", why).ok());
  SolverEntry compiling = EntryOf(kPacked, {});
  compiling.compiles = true;
  Know({compiling});

  const Status refused = CheckHaveNoKernels(maker_, {"away"}, "session 'away'", why);

  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("Nothing compiles here."));
  EXPECT_THAT(refused.message(), HasSubstr("session 'away'"));
}

}  // namespace
}  // namespace attune
