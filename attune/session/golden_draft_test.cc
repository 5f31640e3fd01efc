#include "attune/session/golden_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const SolverId kSolver = {"host.a", 1};

Target OneTarget() { return {"host", "cpu", "x86-64-v3", 4, {}}; }

Session SessionWith(const std::string& name, const std::string& driver) {
  Session session;
  session.name = name;
  session.terms = {"host", "x86-64-v3", OneTarget(), {{"driver.x", driver}}};
  return session;
}

GoldenRival RivalFor(int64_t order, double median_ns) {
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = order;
  GoldenRival rival;
  rival.choice.problem = Normalized(gemm);
  rival.choice.target = OneTarget();
  rival.choice.candidate = {kSolver, {}};
  rival.choice.set_id = std::to_string(order) + " at " + std::to_string(median_ns);
  Measurement& measurement = rival.choice.measurement;
  measurement.low_ns = measurement.median_ns = measurement.high_ns = median_ns;
  rival.evidence.started_unix_ns = 10;
  return rival;
}

class GoldenDraftTest : public testing::Test {
 protected:
  Status Add(const std::string& name, const std::vector<GoldenRival>& rivals, bool force = false) {
    additions_ = {};
    return AddResults({sessions_.at(name), solvers_, rivals}, sessions_, {"me@here", 20, force},
                      draft_, additions_);
  }

  const std::map<std::string, Session> sessions_ = {{"may", SessionWith("may", "1")},
                                                    {"june", SessionWith("june", "1")},
                                                    {"other", SessionWith("other", "2")}};
  SolverTable solvers_ = {1, {SolverEntry{}}};
  GoldenDraft draft_ = {"1", {}, {}, {}};
  GoldenAdditions additions_;

  void SetUp() override {
    solvers_.entries.front().solver = kSolver;
    solvers_.entries.front().code = UnknownCode();
  }
};

TEST_F(GoldenDraftTest, TakesWhatIsNewAndWhatIsFaster) {
  ASSERT_EQ(Add("may", {RivalFor(8, 100), RivalFor(16, 100)}), Status::Ok());
  EXPECT_THAT(additions_.taken, ElementsAre(Pair("new", 2)));

  ASSERT_EQ(Add("june", {RivalFor(8, 50), RivalFor(16, 100.5)}), Status::Ok());

  EXPECT_THAT(additions_.taken, ElementsAre(Pair("faster", 1)));
  EXPECT_EQ(additions_.kept, 1);
  ASSERT_EQ(draft_.taken.size(), 3u);
  EXPECT_EQ(draft_.taken.back().session, "june");
  EXPECT_EQ(draft_.taken.back().added_by, "me@here");
  EXPECT_EQ(draft_.standing.size(), 2u);
  ASSERT_EQ(Add("june", {RivalFor(8, 50)}), Status::Ok());
  EXPECT_EQ(additions_.same, 1);
}

TEST_F(GoldenDraftTest, AnotherEnvironmentIsRefusedWholeOrForced) {
  ASSERT_EQ(Add("may", {RivalFor(8, 100)}), Status::Ok());

  const Status refused = Add("other", {RivalFor(16, 50), RivalFor(8, 50)});

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("sessions 'may' and 'other' are of one device"));
  EXPECT_EQ(draft_.taken.size(), 1u);
  EXPECT_EQ(draft_.standing.size(), 1u);
  EXPECT_THAT(additions_.taken, IsEmpty());
  ASSERT_EQ(Add("other", {RivalFor(16, 50), RivalFor(8, 50)}, true), Status::Ok());
  EXPECT_THAT(additions_.taken, ElementsAre(Pair("forced", 2)));
}

TEST_F(GoldenDraftTest, WhatStandsForTheQuestionAloneCounts) {
  ASSERT_EQ(Add("may", {RivalFor(8, 100)}), Status::Ok());
  ASSERT_EQ(Add("other", {RivalFor(16, 100)}, true), Status::Ok());

  EXPECT_EQ(Add("june", {RivalFor(8, 50)}), Status::Ok());
  EXPECT_THAT(additions_.taken, ElementsAre(Pair("faster", 1)));

  // For a question without an incumbent, all entries of the device count.
  EXPECT_EQ(Add("june", {RivalFor(32, 50)}).code(), StatusCode::kFailedPrecondition);
}

TEST_F(GoldenDraftTest, WhatASolverMadeBeforeItChangedIsNotTakenAndDoesNotStand) {
  ASSERT_EQ(Add("may", {RivalFor(8, 100)}), Status::Ok());
  solvers_.entries.front().solver.version = 2;
  GoldenRival slower = RivalFor(8, 200);
  slower.choice.candidate.solver.version = 2;

  ASSERT_EQ(Add("june", {RivalFor(16, 50), slower}), Status::Ok());

  EXPECT_EQ(additions_.stale, 1);
  EXPECT_THAT(additions_.taken, ElementsAre(Pair("invalid", 1)));
}

TEST_F(GoldenDraftTest, AnEntryOfASessionThatIsNotThereIsDamage) {
  ASSERT_EQ(Add("may", {RivalFor(8, 100)}), Status::Ok());
  draft_.standing.begin()->second.session = "gone";

  EXPECT_EQ(Add("june", {RivalFor(8, 50)}).code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace attune
