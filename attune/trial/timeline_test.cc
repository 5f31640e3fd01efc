#include "attune/trial/timeline.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/random.h"

namespace attune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

// A search of 10 ms in which a worker process compiles and verifies, and a final of 4 ms.
Timeline Sample() {
  Timeline timeline;
  timeline.began_unix_ns = 1'700'000'000'000'000'000;
  timeline.candidates = {"a.solver@1{x=1}", "a.solver@1{x=2}"};
  timeline.stages = {{TuningStage::kSearch, 0, 10 * kMs},
                     {TuningStage::kFinal, 10 * kMs, 14 * kMs}};
  timeline.steps = {{TuningStep::kStart, 1, std::nullopt, 0, 2 * kMs},
                    {TuningStep::kCompile, 1, 0, 3 * kMs, 6 * kMs},
                    {TuningStep::kWait, 2, 1, 6 * kMs, 7 * kMs},
                    {TuningStep::kVerify, 1, 1, 8 * kMs, 12 * kMs}};
  return timeline;
}

TEST(TimelineTest, IsReadBackFromItsText) {
  Timeline timeline = Sample();
  timeline.left_out = 7;

  const auto read = ParseTimeline(Text(timeline));

  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, timeline);
}

TEST(TimelineTest, WhatIsWrongWithATextIsNamed) {
  const auto error_of = [](const char* key, nlohmann::json value) {
    auto json = nlohmann::json::parse(Text(Sample()));
    json[key] = std::move(value);
    return ParseTimeline(json.dump()).status().message();
  };
  EXPECT_THAT(ParseTimeline("{").status().message(), HasSubstr("not the timeline"));
  EXPECT_THAT(error_of("left_out", "x"), HasSubstr("not the timeline"));
  EXPECT_THAT(error_of("candidates", {1}), HasSubstr("1 is no candidate"));
  EXPECT_THAT(error_of("stages", {{"think", 0, 1}}), HasSubstr("'think' is no stage"));
  EXPECT_THAT(error_of("stages", nlohmann::json::array({nlohmann::json::array({"search", 0})})),
              HasSubstr("a name and 2 integers"));
  EXPECT_THAT(error_of("steps", {{"compile", 0, 2, 0, 1}}), HasSubstr("no candidate 2: 2 are"));
  EXPECT_THAT(error_of("steps", {{"dream", 0, 0, 0, 1}}), HasSubstr("'dream' is no step"));
  EXPECT_THAT(error_of("steps", {{"compile", -1, 0, 0, 1}}), HasSubstr("is impossible"));
  EXPECT_THAT(error_of("steps", {{"compile", 0, 0, 0, INT64_MAX}}), HasSubstr("is impossible"));
}

TEST(TimelineTest, DamagedTextsAreRefusedOrReadable) {
  const std::string whole = Text(Sample());
  Random random(5);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
    if (!ParseTimeline(damaged).ok()) ++refused;
  }
  EXPECT_GT(refused, 1000);
}

TEST(TimelineTest, StepsCountInTheStagesThatTheyAreIn) {
  const auto costs = CostsOf(Sample());

  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].wall_ns, 10 * kMs);
  // start, reference, compile, load, verify, time, wait
  EXPECT_THAT(costs[0].step_ns, ElementsAre(2 * kMs, 0, 3 * kMs, 0, 2 * kMs, 0, kMs));
  EXPECT_EQ(costs[0].idle_ns, 3 * kMs);  // From 2 to 3 and from 6 to 8.
  EXPECT_EQ(costs[1].step_ns[4], 2 * kMs);
  EXPECT_EQ(costs[1].idle_ns, 2 * kMs);
}

TEST(TimelineTest, AStageThatComesTwiceIsAddedUp) {
  Timeline timeline = Sample();
  timeline.stages.push_back({TuningStage::kSearch, 14 * kMs, 15 * kMs});

  const auto costs = CostsOf(timeline);

  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].wall_ns, 11 * kMs);
  EXPECT_EQ(costs[0].idle_ns, 4 * kMs);
}

TEST(TimelineTest, ATraceHasAnEventForEachSpanInMicroseconds) {
  const auto trace = nlohmann::json::parse(ChromeTrace(Sample(), "attune tune \xff"));

  const auto& events = trace["traceEvents"];
  int complete = 0;
  for (const auto& event : events) complete += event["ph"] == "X" ? 1 : 0;
  EXPECT_EQ(complete, 6);
  const auto compiled = std::find_if(events.begin(), events.end(),
                                     [](const auto& event) { return event["name"] == "compile"; });
  ASSERT_NE(compiled, events.end());
  EXPECT_EQ((*compiled)["ts"], 3000.0);
  EXPECT_EQ((*compiled)["dur"], 3000.0);
  EXPECT_EQ((*compiled)["args"]["candidate"], "a.solver@1{x=1}");
}

}  // namespace
}  // namespace attune
