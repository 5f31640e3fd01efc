#include "attune/tunable/numerical_check.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(NumericalCheckTest, TolerancesAreReadAndWritten) {
  const auto check = ParseNumericalCheck("1e-2_1e-1");

  ASSERT_TRUE(check.ok());
  EXPECT_EQ(*check, (NumericalCheck{true, 1e-2, 1e-1}));
  EXPECT_EQ(*ParseNumericalCheck(Text(*check)), *check);
  EXPECT_FALSE(ParseNumericalCheck("0")->enabled);
}

TEST(NumericalCheckTest, WhatIsNoPairOfPositiveTolerancesIsRefused) {
  for (const char* text : {"1", "", "1e-2", "1e-2_", "_1", "a_b", "-1_1", "1_-1", "0_1", "nan_1",
                           "inf_1", "1_1_1", "1_1 "}) {
    EXPECT_FALSE(ParseNumericalCheck(text).ok()) << text;
  }
}

}  // namespace
}  // namespace attune
