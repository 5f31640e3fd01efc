#include "attune/tuner/qualify_time.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

TEST(QualifyTimeTest, WhatWasBegunHasAsLongAgainAsAProblem) {
  const ProblemTime time{.end_ns = 10 * kSecondNs, .per_problem_ns = 3 * kSecondNs};

  const QualifyTime limits = TimeToQualify(time, 9 * kSecondNs, true);

  EXPECT_EQ(limits.begin_by_ns, 9 * kSecondNs);
  EXPECT_EQ(limits.ready_by_ns, 13 * kSecondNs);
  EXPECT_EQ(limits.first_ready_by_ns, 13 * kSecondNs);
}

TEST(QualifyTimeTest, ProblemsWithLittleTimeHaveASecond) {
  const ProblemTime time{.end_ns = 10 * kSecondNs, .per_problem_ns = 0};

  EXPECT_EQ(TimeToQualify(time, 0, true).ready_by_ns, 11 * kSecondNs);
}

TEST(QualifyTimeTest, UntilSomebodyPassedTheFirstMayTakeWhatIsLeftOfTheRun) {
  ProblemTime time{.end_ns = 10 * kSecondNs, .per_problem_ns = kSecondNs};
  EXPECT_EQ(TimeToQualify(time, 0, false).first_ready_by_ns, QualifyTime::kForever);

  time.run_end_ns = 60 * kSecondNs;
  EXPECT_EQ(TimeToQualify(time, 0, false).first_ready_by_ns, 60 * kSecondNs);
  EXPECT_EQ(TimeToQualify(time, 0, false).ready_by_ns, 11 * kSecondNs);
  EXPECT_EQ(TimeToQualify(time, 0, true).first_ready_by_ns, 11 * kSecondNs);

  time.run_end_ns = 5 * kSecondNs;
  EXPECT_EQ(TimeToQualify(time, 0, false).first_ready_by_ns, 11 * kSecondNs);
}

}  // namespace
}  // namespace attune
