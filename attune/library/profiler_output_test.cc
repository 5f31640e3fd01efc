#include "attune/library/profiler_output.h"

#include <iterator>
#include <map>
#include <random>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "attune/base/file.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string MessageOf(std::string_view text) {
  const auto ops = ParseProfilerOutput(text);
  return ops.ok() ? "" : ops.error().message();
}

TEST(ProfilerOutput, EveryOperationIsRead) {
  const auto ops = ParseProfilerOutput(
      "warming up\nOP:gemm_128x128,TIME:0.5,WS:1024\r\nOP:gemm_64x64,TIME:2.5e-1,WS:0\n");

  ASSERT_TRUE(ops.ok());
  EXPECT_THAT(*ops, ElementsAre(ProfiledOp{"gemm_128x128", 0.5, 1024, 1},
                                ProfiledOp{"gemm_64x64", 0.25, 0, 1}));
}

TEST(ProfilerOutput, TheOlderFormHasOneOperationWithoutAName) {
  EXPECT_THAT(*ParseProfilerOutput("TIME:1.5\nWS:64"), ElementsAre(ProfiledOp{"", 1.5, 64, 1}));
  EXPECT_THAT(*ParseProfilerOutput("TIME: 1.5 \n"), ElementsAre(ProfiledOp{"", 1.5, 0, 1}));
  EXPECT_THAT(*ParseProfilerOutput("TIME:1.5WS:64"), ElementsAre(ProfiledOp{"", 1.5, 64, 1}));
}

TEST(ProfilerOutput, ANameThatComesAgainIsASample) {
  const auto ops = ParseProfilerOutput(
      "OP:a,TIME:3,WS:1\nOP:b,TIME:9,WS:0\nOP:a,TIME:1,WS:7\nOP:a,TIME:2,WS:0\nOP:b,TIME:1,WS:0\n");

  EXPECT_THAT(*ops, ElementsAre(ProfiledOp{"a", 2, 7, 3}, ProfiledOp{"b", 5, 0, 2}));
}

TEST(ProfilerOutput, NamesMayHaveWhatSeparates) {
  EXPECT_THAT(*ParseProfilerOutput("OP:gemm<1,2>,TIME:4,WS:5,TIME:6,WS:7"),
              ElementsAre(ProfiledOp{"gemm<1,2>,TIME:4,WS:5", 6, 7, 1}));
}

TEST(ProfilerOutput, WithoutSuchALineThereIsNone) {
  EXPECT_THAT(*ParseProfilerOutput(""), IsEmpty());
  EXPECT_THAT(*ParseProfilerOutput("hello\nTIMES:3\n"), IsEmpty());
}

std::vector<ProfiledOp> OpsOf(const nlohmann::json& ops) {
  std::vector<ProfiledOp> list;
  for (const auto& op : ops) {
    list.push_back(
        {op[0].get<std::string>(), op[1].get<double>(), op[2].get<int64_t>(), op[3].get<int>()});
  }
  return list;
}

// Outputs with their operations (name, ms, bytes, samples) or their errors.
TEST(ProfilerOutput, OutputsOfTheTableAreReadAsItSays) {
  const auto table = nlohmann::json::parse(*ReadFile(ATTUNE_TEST_DATA_DIR "/profile/outputs.json"));
  ASSERT_GE(table.size(), 25u);

  for (const auto& row : table) {
    SCOPED_TRACE(row["what"].get<std::string>());
    const auto ops = ParseProfilerOutput(row["output"].get<std::string>());
    EXPECT_EQ(ops.status().message(), row.value("error", ""));
    if (ops.ok()) {
      EXPECT_EQ(*ops, OpsOf(row["ops"]));
    }
  }
}

// AITemplate's runner searches all of the output with
// OP:([a-zA-Z0-9_]+),TIME:([\d\.]+),WS:([\d]+).
TEST(ProfilerOutput, WhatTheRunnerFindsIsRead) {
  const std::regex pattern(R"(OP:([a-zA-Z0-9_]+),TIME:([\d\.]+),WS:([\d]+))");
  std::mt19937 random(1);
  const char* const parts[] = {"OP:a,TIME:1.5,WS:0",
                               "OP:b_1,TIME:2,WS:64",
                               "OP:c,TIME:.25,WS:7",
                               " ",
                               "\n",
                               "\r\n",
                               "|",
                               "[I] ",
                               "; ",
                               "ms ",
                               "TIME:",
                               "WS:",
                               "OP:",
                               "TIME:3 ",
                               "100% "};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 6; ++i) text += parts[random() % std::size(parts)];
    const auto ops = ParseProfilerOutput(text);
    // A value that runs into the next field is refused.
    if (!ops.ok()) continue;
    std::map<std::string, int> found;
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
      ++found[(*at)[1]];
    }
    std::map<std::string, int> read;
    for (const ProfiledOp& op : *ops) {
      if (!op.name.empty()) read[op.name] = op.samples;
    }
    for (const auto& [name, samples] : found) EXPECT_GE(read[name], samples) << text;
  }
}

TEST(ProfilerOutput, WhatIsNoTimeIsNamedWithItsLine) {
  EXPECT_THAT(MessageOf("x\nOP:a,TIME:0,WS:0"), HasSubstr("Line 2: TIME is '0'"));
  for (const char* time : {"-1", "nan", "inf", "1e999", "1e308", "1e-308", "", "0x1", "1 2"}) {
    EXPECT_THAT(MessageOf(std::string("TIME:") + time), HasSubstr("Line 1: TIME")) << time;
  }
}

TEST(ProfilerOutput, WhatIsNoWorkspaceOrNoLineIsNamedToo) {
  EXPECT_THAT(MessageOf("OP:a,TIME:1,WS:-1"), HasSubstr("WS is '-1'"));
  EXPECT_THAT(MessageOf("OP:a,TIME:1,WS:99999999999999999999"), HasSubstr("Line 1: WS"));
  EXPECT_THAT(MessageOf("WS:1"), HasSubstr("before any TIME"));
  EXPECT_THAT(MessageOf("\n\nOP:a,TIME:1"), HasSubstr("Line 3"));
  EXPECT_THAT(MessageOf("OP:,TIME:1,WS:1"), HasSubstr("names nothing"));
}

}  // namespace
}  // namespace attune
