#include "attune/jobs/job.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace attune
