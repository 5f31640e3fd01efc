#include "attune/tuner/evaluator.h"

#include <gtest/gtest.h>

#include "attune/tuner/child_block_timer.h"

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

TEST(BusyTimeTest, WhatIsAppendedAddsUp) {
  BusyTime all{{{0, 10}}, {{3, 10}}};

  Append(all, {{{5, 15}, {20, 30}}, {{22, 30}}});

  EXPECT_EQ(UnionLengthNs(all.intervals), 25);
  EXPECT_EQ(UnionLengthNs(all.of_device), 15);
}

TEST(VerifyTimeTest, BuildingAndLoadingAreNoPartOfIt) {
  Trial trial;
  trial.build_ns = 30;
  trial.load_ns = 5;

  EXPECT_EQ(VerifyNs(100, trial), 65);
  EXPECT_EQ(VerifyNs(20, trial), 0);
}

TEST(BlockDeadlineTest, LongLaunchesMayTakeTenTimesWhatQualifyingSaw) {
  constexpr int64_t kSecondNs = 1'000'000'000;

  EXPECT_EQ(BlockDeadlineNs(20 * kSecondNs, 1, 0), 20 * kSecondNs);
  EXPECT_EQ(BlockDeadlineNs(20 * kSecondNs, 100, 1e6), 20 * kSecondNs);
  EXPECT_EQ(BlockDeadlineNs(20 * kSecondNs, 1, 12e9), 240 * kSecondNs);
  EXPECT_EQ(BlockDeadlineNs(20 * kSecondNs, 9, 1e9), 100 * kSecondNs);
}

}  // namespace
}  // namespace attune
