#include "attune/library/printed_time.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;

TEST(PrintedTimeTest, TheLinesOfProfilersAreReadAndEverythingElseIsIgnored) {
  const auto time = ParsePrintedTime({}, "warming up\nOP:x, TIME:0.5 ,WS:64\r\ndone: yes\n");

  ASSERT_TRUE(time.ok()) << time.error().message();
  EXPECT_DOUBLE_EQ(time->time_ns, 0.5e6);
  EXPECT_EQ(time->workspace_bytes, 64);
}

TEST(PrintedTimeTest, OfSeveralLinesTheMedianCountsAndTheMostWorkspace) {
  const auto time = ParsePrintedTime({}, "TIME:3,WS:8\nTIME:1\nTIME:2,WS:16\nTIME:40");

  ASSERT_TRUE(time.ok());
  EXPECT_DOUBLE_EQ(time->time_ns, 2.5e6);
  EXPECT_EQ(time->workspace_bytes, 16);
}

TEST(PrintedTimeTest, KeysUnitsAndMarksAreWhatTheDescriptionSays) {
  PrintedFormat format;
  format.separator = ';';
  format.assign = '=';
  format.time = "t";
  format.unit_ns = UnitNs("us");
  format.workspace = "";
  format.only = {{"kernel", "main"}};

  const auto time = ParsePrintedTime(format, "kernel=init;t=900\nkernel=main;t=7;WS=-1\nt=3\n");

  ASSERT_TRUE(time.ok()) << time.error().message();
  EXPECT_DOUBLE_EQ(time->time_ns, 7e3);
  EXPECT_EQ(UnitNs("h"), 0);
}

TEST(PrintedTimeTest, ATimeOfZeroOrNonsenseIsNamedWithItsLineAndIsNoResult) {
  for (const char* told :
       {"0", "-1", "nan", "inf", "1e400", "1e290", "1e-308", "", "1ms", "0x10"}) {
    const auto time = ParsePrintedTime({}, std::string("TIME:1\nTIME:") + told + "\n");
    ASSERT_FALSE(time.ok()) << told;
    EXPECT_EQ(time.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(time.error().message(), HasSubstr("Line 2: TIME is '"));
  }
  EXPECT_THAT(ParsePrintedTime({}, "TIME:1,WS:1.5").status().message(), HasSubstr("WS is '1.5'"));
  EXPECT_THAT(ParsePrintedTime({}, "TIME:1,TIME:2").status().message(),
              HasSubstr("Line 1: 'TIME' comes twice"));
}

TEST(PrintedTimeTest, WhoPrintsNoTimeHasNoResult) {
  const auto time = ParsePrintedTime({}, "all good\nOP:x,WS:3\n");

  ASSERT_FALSE(time.ok());
  EXPECT_EQ(time.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(time.error().message(), HasSubstr("no line with TIME:"));
}

}  // namespace
}  // namespace attune
