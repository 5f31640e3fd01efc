#include "attune/profile/profiler_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(ProfilerOutput, WhatIsNoTimeIsNamedWithItsLine) {
  EXPECT_THAT(MessageOf("x\nOP:a,TIME:0,WS:0"), HasSubstr("Line 2: TIME is '0'"));
  for (const char* time : {"-1", "nan", "inf", "1e999", "1e308", "1e-308", "", "0x1", "1 2"}) {
    EXPECT_THAT(MessageOf(std::string("TIME:") + time), HasSubstr("Line 1: TIME")) << time;
  }
}

TEST(ProfilerOutput, WhatIsNoWorkspaceOrNoLineIsNamedToo) {
  EXPECT_THAT(MessageOf("OP:a,TIME:1,WS:-1"), HasSubstr("WS is '-1'"));
  EXPECT_THAT(MessageOf("TIME:1,WS:9"), HasSubstr("Line 1: 'TIME:1,WS:9' has no OP"));
  EXPECT_THAT(MessageOf("OP:a,TIME:1,WS:99999999999999999999"), HasSubstr("Line 1: WS"));
  EXPECT_THAT(MessageOf("WS:1"), HasSubstr("before any TIME"));
  EXPECT_THAT(MessageOf("\n\nOP:a,TIME:1"), HasSubstr("Line 3"));
  EXPECT_THAT(MessageOf("OP:,TIME:1,WS:1"), HasSubstr("names nothing"));
}

}  // namespace
}  // namespace attune
