#include "storage/nats/stalled_consumer.h"

#include <gtest/gtest.h>

namespace attune::nats {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
const Channel kShared{"fake:a:b:1{}", {JobSearch::kPerf, JobWork::kMeasure}};
const Channel kOther{"fake:a:b:1{}", {JobSearch::kFind, JobWork::kMeasure}};

TEST(StallWatch, WhoGivesNothingOfWhatThereIsForTenSecondsIsStalled) {
  StallWatch watch;
  EXPECT_FALSE(watch.Look(kShared, true, 7, 100 * kSecond));
  EXPECT_FALSE(watch.Look(kShared, true, 7, 109 * kSecond));
  EXPECT_FALSE(watch.Look(kOther, true, 7, 111 * kSecond)) << "Each channel has its own time.";
  EXPECT_TRUE(watch.Look(kShared, true, 7, 110 * kSecond));
}

TEST(StallWatch, WhoGivesSomethingOrHasAllOfItIsNot) {
  StallWatch watch;
  EXPECT_FALSE(watch.Look(kShared, true, 7, 100 * kSecond));
  EXPECT_FALSE(watch.Look(kShared, true, 8, 110 * kSecond));
  EXPECT_FALSE(watch.Look(kShared, true, 8, 119 * kSecond));
  EXPECT_FALSE(watch.Look(kShared, false, 8, 120 * kSecond));
  EXPECT_FALSE(watch.Look(kShared, true, 8, 121 * kSecond));
  EXPECT_FALSE(watch.Look(kShared, true, 8, 130 * kSecond));
  EXPECT_TRUE(watch.Look(kShared, true, 8, 131 * kSecond));
}

TEST(StallWatch, WhatDidNotHelpIsTriedLessAndLess) {
  StallWatch watch;
  EXPECT_FALSE(watch.Look(kShared, true, 7, 0));
  int times = 0;
  for (int64_t second = 1; second <= 150; ++second) {
    if (watch.Look(kShared, true, 7, second * kSecond)) ++times;
  }
  EXPECT_EQ(times, 4) << "After 10, 30, 70 and 150 seconds.";
}

}  // namespace
}  // namespace attune::nats
