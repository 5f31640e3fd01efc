#include "attune/measure/stopping_criterion.h"

#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(BudgetCriterionTest, StopsBeforeTheRoundThatWouldNotEndInTime) {
  const BudgetCriterion criterion(1000);

  EXPECT_EQ(criterion.Check({.round = 3, .elapsed_ns = 900, .last_round_ns = 100}), std::nullopt);
  EXPECT_EQ(criterion.Check({.round = 3, .elapsed_ns = 901, .last_round_ns = 100}),
            StopReason::kBudget);
}

TEST(MaxRoundsCriterionTest, StopsAtTheBound) {
  const MaxRoundsCriterion criterion(5);

  EXPECT_EQ(criterion.Check({.round = 4}), std::nullopt);
  EXPECT_EQ(criterion.Check({.round = 5}), StopReason::kMaxRounds);
}

TEST(DecidedCriterionTest, StopsOnceNoMoreThanTheFinalistsAreLeft) {
  const DecidedCriterion criterion({.finalists = 1, .min_rounds = 5});
  const std::vector<Contender> contenders = {{.index = 1}};

  EXPECT_EQ(criterion.Check({.round = 4, .contenders = contenders}), std::nullopt);
  EXPECT_EQ(criterion.Check({.round = 5, .contenders = contenders}), StopReason::kDecided);
}

TEST(DecidedCriterionTest, StopsOnceEveryEstimateIsPreciseEnoughToOrderThem) {
  const DecidedCriterion criterion({.finalists = 1, .min_rounds = 1, .precision = 0.01});
  std::vector<Contender> contenders = {{1, {1.10, 1.095, 1.105, 0.99}}, {2, {1.2, 1.1, 1.3, 0.99}}};

  EXPECT_EQ(criterion.Check({.round = 9, .contenders = contenders}), std::nullopt);
  contenders[1].speedup = {1.2, 1.19, 1.21, 0.99};
  EXPECT_EQ(criterion.Check({.round = 9, .contenders = contenders}), StopReason::kDecided);
  contenders[1].speedup.confidence = 0.9;
  EXPECT_EQ(criterion.Check({.round = 9, .contenders = contenders}), std::nullopt);
}

TEST(StopReasonTest, NamesAreDistinct) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(StopReason::kCancelled); ++i) {
    names.push_back(Name(static_cast<StopReason>(i)));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_NE(names[i], "unknown");
    for (size_t j = 0; j < i; ++j) EXPECT_NE(names[i], names[j]);
  }
}

}  // namespace
}  // namespace attune
