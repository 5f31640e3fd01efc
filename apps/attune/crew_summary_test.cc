#include "apps/attune/crew_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/application.h"

namespace attune {
namespace {

using Kind = ProblemOutcome::Kind;
using testing::HasSubstr;

// The output of `attune tune --json` for problems a, b, ... with these outcomes.
CrewMember MemberOf(const std::string& device, const std::vector<std::string>& outcomes) {
  Json summary = {{"tuned", 0},
                  {"not_reached", 0},
                  {"wall_ns", 1000},
                  {"busy_ns", 900},
                  {"device_busy_ns", 700}};
  summary["problems"] = Json::array();
  char name = 'a';
  for (const std::string& outcome : outcomes) {
    if (summary.contains(outcome)) summary[outcome] = summary[outcome].get<int>() + 1;
    summary["problems"].push_back({{"problem", std::string(1, name++)},
                                   {"outcome", outcome},
                                   {"message", outcome + " on " + device}});
  }
  return {device, 0, summary.dump(), ""};
}

TEST(CrewSummaryTest, AProblemIsAsFarAsTheDeviceThatGotFurthest) {
  const std::vector<CrewMember> members = {
      MemberOf("x:0", {"tuned", "failed", "already_tuned", "unsupported", "not_reached"}),
      MemberOf("x:1", {"already_tuned", "tuned", "already_tuned", "unsupported", "failed"})};

  const CrewSummary summary = Summarize(members);

  ASSERT_EQ(summary.problems.size(), 5u);
  EXPECT_EQ(CountOutcomes(summary).Of(Kind::kTuned), 2);
  EXPECT_EQ(CountOutcomes(summary).Of(Kind::kAlreadyTuned), 1);
  EXPECT_EQ(CountOutcomes(summary).Of(Kind::kUnsupported), 1);
  EXPECT_EQ(CountOutcomes(summary).Of(Kind::kFailed), 1);
  EXPECT_EQ(summary.problems[0]["device"], "x:0");
  EXPECT_EQ(summary.problems[1]["device"], "x:1");
  EXPECT_EQ(summary.problems[4]["message"], "failed on x:1");
  EXPECT_EQ(summary.wall_ns, 1000);
  EXPECT_EQ(ExitStatusOf(CountOutcomes(summary)), kExitPartly);
}

TEST(CrewSummaryTest, ADeviceThatGaveUpSaysWhyAndTheOthersCount) {
  const std::vector<CrewMember> members = {
      MemberOf("x:0", {"tuned", "tuned", "tuned", "tuned"}),
      MemberOf("x:1", {"failed", "failed", "failed", "not_reached"}),
      {"x:2", 1, "", "attune tune: The device 'x:2' cannot be used."},
      {"x:3", 137, "{\"tuned\": 1, ", ""}};

  const CrewSummary summary = Summarize(members);

  EXPECT_EQ(CountOutcomes(summary).Of(Kind::kTuned), 4);
  EXPECT_EQ(ExitStatusOf(CountOutcomes(summary)), kExitDone);
  EXPECT_EQ(summary.devices[0].trouble, "");
  EXPECT_EQ(summary.devices[1].trouble, "failed on x:1");
  EXPECT_EQ(summary.devices[2].trouble, "attune tune: The device 'x:2' cannot be used.");
  EXPECT_EQ(summary.devices[3].trouble,
            "Its process was ended by signal 9 (Killed) and said nothing.");
  const std::string text = SummaryText(summary, Screen(), 80);
  EXPECT_THAT(text, HasSubstr("4 tuned"));
  EXPECT_THAT(text, HasSubstr("on 4 devices"));
  // Only of processes that printed it.
  EXPECT_THAT(text, HasSubstr("90%          70%"));
  EXPECT_EQ(ToJson(summary)["devices"][0]["device_busy_ns"], 700);
  EXPECT_EQ(ToJson(summary)["devices"][2]["device_busy_ns"], 0);
  EXPECT_LT(text.find("x:0"), text.find("x:1"));
}

TEST(CrewSummaryTest, NothingTunedIsAFailureWhateverWasNotReached) {
  const std::vector<CrewMember> failed = {
      MemberOf("x:0", {"failed", "failed", "failed", "not_reached"})};
  const std::vector<CrewMember> stopped = {MemberOf("x:0", {"not_reached", "not_reached"})};

  EXPECT_EQ(ExitStatusOf(CountOutcomes(Summarize(failed))), kExitFailed);
  EXPECT_EQ(ExitStatusOf(CountOutcomes(Summarize(stopped))), kExitPartly);
}

TEST(CrewSummaryTest, NothingSaidIsAFailure) {
  const std::vector<CrewMember> members = {{"x:0", 1, "", "out of order"}};

  EXPECT_EQ(ExitStatusOf(CountOutcomes(Summarize(members))), kExitFailed);
  EXPECT_EQ(ToJson(Summarize(members))["devices"][0]["trouble"], "out of order");
}

}  // namespace
}  // namespace attune
