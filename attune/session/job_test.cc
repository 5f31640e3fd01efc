#include "attune/session/job.h"

#include <gtest/gtest.h>

#include "attune/session/job_store.h"

namespace attune {
namespace {

TEST(JobTest, StepsAreReadAsTheyAreWritten) {
  for (const JobStep& step : AllJobSteps()) {
    const auto parsed = ParseJobStep(Text(step));
    ASSERT_TRUE(parsed.ok()) << Text(step);
    EXPECT_EQ(*parsed, step);
  }
  EXPECT_EQ(Text(JobStep{JobSearch::kFind, JobWork::kCompile}), "find:compile");
}

TEST(JobTest, CompilingComesBeforeMeasuringAndSearchingBeforeFinding) {
  const auto steps = AllJobSteps();
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_EQ(Text(steps[0]), "perf:compile");
  EXPECT_EQ(Text(steps[1]), "perf:measure");
  EXPECT_EQ(Text(steps[2]), "find:compile");
}

TEST(JobTest, UnknownStepsAndStatesSayWhichThereAre) {
  const auto step = ParseJobStep("perf:run");
  ASSERT_FALSE(step.ok());
  EXPECT_NE(step.error().message().find("find:measure"), std::string::npos);
  const auto state = ParseJobState("compiled");
  ASSERT_FALSE(state.ok());
  EXPECT_NE(state.error().message().find("cancelled"), std::string::npos);
}

TEST(JobTest, StatesAreReadAsTheyAreWritten) {
  for (int i = 0; i < kJobStates; ++i) {
    const auto state = static_cast<JobState>(i);
    ASSERT_TRUE(ParseJobState(Name(state)).ok());
    EXPECT_EQ(*ParseJobState(Name(state)), state);
  }
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(JobRateTest, IsOfTheTimeInWhichSomebodyWorked) {
  JobCounts counts;
  // Three jobs at once, then two in the next ten seconds, and none since.
  counts.owners["gone"] = {5, 10 * kSecond, 3, 20 * kSecond, 0};
  EXPECT_EQ(RateOf(counts, 20 * kSecond).per_second, 0.2);
  EXPECT_EQ(RateOf(counts, 500 * kSecond).per_second, 0.2);
  EXPECT_FALSE(RateOf(counts, 500 * kSecond).is_worked_on);

  // Another owner after a break, which does not count, until now.
  counts.owners["here"] = {4, 400 * kSecond, 1, 405 * kSecond, 470 * kSecond};
  const JobRate rate = RateOf(counts, 420 * kSecond);
  EXPECT_TRUE(rate.is_worked_on);
  EXPECT_DOUBLE_EQ(rate.per_second, 5.0 / 30);
}

TEST(JobRateTest, WhoeverWorksBesideOthersTakesNoTimeOfHisOwn) {
  JobCounts counts;
  counts.owners["a"] = {11, 100 * kSecond, 1, 110 * kSecond, 0};
  counts.owners["b"] = {11, 105 * kSecond, 1, 115 * kSecond, 0};
  EXPECT_DOUBLE_EQ(RateOf(counts, 200 * kSecond).per_second, 20.0 / 15);
}

TEST(JobRateTest, IsUnknownWhileNothingEndedAfterTheFirst) {
  JobCounts counts;
  EXPECT_EQ(RateOf(counts, kSecond).per_second, 0);
  counts.owners["a"] = {3, 10 * kSecond, 3, 10 * kSecond, 0};
  EXPECT_EQ(RateOf(counts, 20 * kSecond).per_second, 0);
  // An expired lease counts for no owner.
  counts.owners["b"] = {0, 0, 0, 0, 15 * kSecond};
  EXPECT_TRUE(RateOf(counts, 14 * kSecond).is_worked_on);
  EXPECT_FALSE(RateOf(counts, 15 * kSecond).is_worked_on);
}

}  // namespace
}  // namespace attune
