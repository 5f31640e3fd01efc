#include "apps/attune/session/job_crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/application.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

CrewMember MemberOf(const std::string& device, const JobRunSummary& summary) {
  return {device, 0, ToJson(summary).dump(), ""};
}

JobRunSummary Done(int64_t done, int64_t failed) {
  JobRunSummary summary;
  summary.done = done;
  summary.failed = failed;
  summary.open = {.left = 7, .failed = 0};
  summary.problems_without_jobs = 2;
  summary.compile_threads = 3;
  if (failed == 0) return summary;
  summary.failures["crashed"] = failed;
  summary.troubles = {"perf:measure a of b: crashed: signal 11"};
  return summary;
}

TEST(JobCrewTest, WhatTheDevicesDidIsAddedUp) {
  const std::vector<CrewMember> members = {MemberOf("x:0", Done(5, 1)),
                                           MemberOf("x:1", Done(3, 2))};

  JobCrewSummary crew = SummarizeJobs(members);

  EXPECT_EQ(crew.all.done, 8);
  EXPECT_EQ(crew.all.failed, 3);
  EXPECT_THAT(crew.all.failures, ElementsAre(Pair("crashed", 3)));
  EXPECT_EQ(crew.all.troubles.size(), 2u);
  EXPECT_EQ(crew.all.problems_without_jobs, 2);
  EXPECT_EQ(crew.all.open.has_value(), false);
  crew.all.open.emplace();
  EXPECT_EQ(ExitStatusOf(crew), kExitPartly);
  const Json json = ToJson(crew);
  EXPECT_EQ(json["left"], 0);
  EXPECT_EQ(json["devices"][1]["done"], 3);
  EXPECT_EQ(json["devices"][1]["compile_threads"], 3);
  EXPECT_EQ(json["compile_threads"], 3);
}

TEST(JobCrewTest, ADeviceThatGaveUpSaysWhyAndTheOthersCount) {
  JobRunSummary stopped = Done(1, 0);
  stopped.failure = Unavailable("The disk is full.");
  const std::vector<CrewMember> members = {MemberOf("x:0", stopped),
                                           MemberOf("x:1", Done(4, 0)),
                                           {"x:2", 1, "", "attune tune: No such device."},
                                           {"x:3", 137, "{\"done\": 1", ""}};

  JobCrewSummary crew = SummarizeJobs(members);
  crew.all.open.emplace();

  EXPECT_EQ(crew.all.done, 5);
  EXPECT_EQ(ExitStatusOf(crew), kExitDone);
  EXPECT_EQ(crew.devices[0].trouble, "The disk is full.");
  EXPECT_EQ(crew.devices[1].trouble, "");
  EXPECT_EQ(crew.devices[2].trouble, "attune tune: No such device.");
  EXPECT_EQ(crew.devices[3].trouble,
            "Its process was ended by signal 9 (Killed) and said nothing.");
  const std::string text = Text(crew, Screen(), 80);
  EXPECT_THAT(text, HasSubstr("5 jobs done, 0 failed, 0 left."));
  EXPECT_LT(text.find("x:1"), text.find("x:0"));
}

TEST(JobCrewTest, WhatDevicesInTroubleLeaveIsForTheOthers) {
  JobRunSummary stopped = Done(1, 0);
  stopped.stopped_because = "Candidates of 3 problems in a row could not be evaluated.";
  std::vector<CrewMember> members = {MemberOf("x:0", Done(2, 0)), MemberOf("x:1", Done(3, 0))};
  EXPECT_THAT(DevicesToGoOnWith(SummarizeJobs(members)), testing::IsEmpty());
  members[1] = MemberOf("x:1", stopped);
  EXPECT_THAT(DevicesToGoOnWith(SummarizeJobs(members)), ElementsAre("x:0"));

  members.push_back(MemberOf("x:0", Done(4, 0)));
  const JobCrewSummary crew = SummarizeJobs(members);

  EXPECT_EQ(crew.all.done, 7);
  ASSERT_EQ(crew.devices.size(), 2u);
  EXPECT_EQ(crew.devices[0].done, 6);
  EXPECT_EQ(crew.devices[1].trouble, stopped.stopped_because);
}

TEST(JobCrewTest, NothingSaidIsAFailure) {
  const std::vector<CrewMember> members = {{"x:0", 1, "", "out of order"}};

  EXPECT_EQ(ExitStatusOf(SummarizeJobs(members)), kExitFailed);
}

TEST(JobCrewTest, AnInterruptionBeforeAnybodyHasBegunIsNoFailure) {
  JobCrewSummary crew = SummarizeJobs(std::vector<CrewMember>{{"x:0", 130, "", ""}});
  crew.all.open = {.left = 7, .failed = 0};
  EXPECT_EQ(ExitStatusOf(crew), kExitFailed);

  crew.all.was_interrupted = true;

  EXPECT_EQ(ExitStatusOf(crew), kExitPartly);
  EXPECT_EQ(crew.devices[0].trouble, "It was interrupted before it had begun.");
  EXPECT_THAT(Text(crew, Screen(), 80), HasSubstr("The run was interrupted"));
}

TEST(JobCrewTest, WhatFailedInEarlierRunsIsToldAndIsNotAllDone) {
  JobRunSummary summary;
  summary.done = 2;
  summary.failed = 1;
  summary.open = {.left = 0, .failed = 3};

  EXPECT_EQ(ToJson(summary)["failed_before"], 2);
  EXPECT_THAT(Text(summary), HasSubstr("2 jobs of these steps"));
  summary.failed = 0;
  EXPECT_EQ(ExitStatusOf(summary), kExitPartly);
  summary.open->failed = 0;
  EXPECT_EQ(ExitStatusOf(summary), kExitDone);
}

}  // namespace
}  // namespace attune
