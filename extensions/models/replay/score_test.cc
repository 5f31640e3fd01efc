#include "extensions/models/replay/score.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

// Times 5, 3, 2 and 1 ms at a cost of 10 ms each, and a failure that cost 20 ms.
RecordedSpace Tiny() {
  const auto recorded = ReadRecordedSpace(
      "x,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n"
      "1,ok,5,7,0,2,1\n"
      "2,ok,3,7,0,2,1\n"
      "3,CompilationFailedConfig,,20,,,\n"
      "4,ok,2,7,0,2,1\n"
      "5,ok,1,7,0,2,1\n");
  return *recorded;
}

// The median is 2.5, so 95 % of the way to the optimum are 1.075. 3 of 4 configs are worse, for
// which random search needs ceil(3 / (4 + 1 - 3)) = 2 evaluations of median cost 10. 1 % of the way
// are 2.485, which takes ceil(2 / 3) = 1.
TEST(ScoreTest, BasisIsWhatAHandComputes) {
  const ScoreBasis basis = BasisOf(Tiny());

  EXPECT_EQ(basis.times_ms, (std::vector<double>{1, 2, 3, 5}));
  EXPECT_DOUBLE_EQ(basis.target_ms, 1.075);
  EXPECT_EQ(basis.evaluations, 2u);
  EXPECT_EQ(basis.budget_ms, 20);
  ASSERT_EQ(basis.grid_ms.size(), 1000u);
  EXPECT_EQ(basis.grid_ms.front(), 10);
  EXPECT_EQ(basis.grid_ms.back(), 20);
}

// An evaluation costs random search 10 + 20 / 5 = 14 ms. So it has made one by 21 ms. The expected
// rank from the worst is 1 (4 + 1) / (1 + 1) = 2.5, rounded to even: 2 ms.
TEST(ScoreTest, BaselineIsWhatAHandComputes) {
  const ScoreBasis basis = BasisOf(Tiny());

  for (const double baseline_ms : basis.baseline_ms) EXPECT_EQ(baseline_ms, 2);
}

TEST(ScoreTest, TheOptimumAtOnceScoresOne) {
  const ScoreBasis basis = BasisOf(Tiny());
  const ReplayLog log = {{4, 10, 1.0}, {0, 20, 1.0}};

  EXPECT_EQ(MeanValue(ScoresOf(basis, CurveOf(basis, {log}))), 1);
  EXPECT_TRUE(ReachesTarget(basis, log));
}

// The rank falls in a straight line from 2 at 10 ms to 0 at 20 ms, so the rounded one is 2, 1 and 0
// for a quarter, a half and a quarter of the time: scores -1, 0 and 1.
TEST(ScoreTest, ARunThatImprovesScoresInBetween) {
  const ScoreBasis basis = BasisOf(Tiny());
  const ReplayLog log = {{1, 10, 3.0}, {4, 20, 1.0}};

  const std::vector<double> scores = ScoresOf(basis, CurveOf(basis, {log}));

  EXPECT_EQ(scores.front(), -1);
  EXPECT_EQ(scores[500], 0);
  EXPECT_EQ(scores.back(), 1);
  EXPECT_NEAR(MeanValue(scores), 0, 0.002);
}

// Times 1, 2 and 3 ms at a cost of 10 ms each. 2 of 3 are worse than the target of 1.05, which
// takes ceil(2 / 2) = 1 evaluation, and random search is at rank 1 (3 + 1) / (1 + 1) = 2 from the
// worst by then: the optimum.
TEST(ScoreTest, WhereRandomSearchHasTheOptimumAtOnceThereIsNoScore) {
  const ScoreBasis basis = BasisOf(
      *ReadRecordedSpace("x,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n"
                         "1,ok,1,10,,,\n2,ok,2,10,,,\n3,ok,3,10,,,\n"));

  const Status compared = CheckComparable(basis);

  EXPECT_EQ(compared.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(compared.message().find("the least time (1 ms) of the 3 configs"), std::string::npos);
}

TEST(ScoreTest, ScoresOfSmallSpacesAreNoRoundingErrors) {
  Random random(1);
  for (int space = 0; space < 30; ++space) {
    std::string csv = "x,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n";
    const uint64_t configs = 8 + random.Below(40);
    for (uint64_t i = 0; i < configs; ++i) {
      csv += fmt::format("{},ok,{},{},,,\n", i, 1 + random.Uniform(), 1 + random.Uniform());
    }
    const ScoreBasis basis = BasisOf(*ReadRecordedSpace(csv));
    if (!CheckComparable(basis).ok()) continue;

    const std::vector<double> curve_ms(basis.grid_ms.size(), basis.times_ms.back());

    // Times are evenly spread: the worst is twice as far from the optimum as the median.
    for (const double score : ScoresOf(basis, curve_ms)) EXPECT_GT(score, -1000) << csv;
  }
}

TEST(ScoreTest, WithoutCostsThereIsNoBudget) {
  const ScoreBasis basis = BasisOf(
      *ReadRecordedSpace("x,status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n"
                         "1,ok,5,,,,\n2,ok,3,,,,\n3,ok,1,7,,,\n"));

  EXPECT_NE(CheckComparable(basis).message().find("took 0 ms in the median"), std::string::npos);
}

TEST(ScoreTest, WhatIsFoundAfterTheBudgetDoesNotReachTheTarget) {
  const ScoreBasis basis = BasisOf(Tiny());

  EXPECT_FALSE(ReachesTarget(basis, {{2, 20, std::nullopt}, {4, 30, 1.0}}));
}

TEST(ScoreTest, RunsThatFindNothingStayAtTheWorst) {
  const ScoreBasis basis = BasisOf(Tiny());

  EXPECT_EQ(CurveOf(basis, {{{2, 20, std::nullopt}}}).back(), 5);
}

}  // namespace
}  // namespace attune
