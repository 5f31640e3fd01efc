#include "attune/tuner/evaluator.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(UnionLengthTest, OverlappingWorkCountsOnce) {
  EXPECT_EQ(UnionLengthNs({}), 0);
  EXPECT_EQ(UnionLengthNs({{0, 10}, {5, 15}, {20, 30}}), 25);
  EXPECT_EQ(UnionLengthNs({{20, 30}, {0, 100}, {50, 60}}), 100);
}

TEST(UnionLengthTest, EmptyAndReversedIntervalsCountNothing) {
  EXPECT_EQ(UnionLengthNs({{5, 5}, {9, 3}}), 0);
}

}  // namespace
}  // namespace attune
