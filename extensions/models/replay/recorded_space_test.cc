#include "extensions/models/replay/recorded_space.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

const std::string kTrialColumns =
    "status,time_ms,compile_ms,verification_ms,benchmark_ms,framework_ms\n";

std::string ErrorOf(const std::string& csv) {
  const auto recorded = ReadRecordedSpace(csv);
  EXPECT_FALSE(recorded.ok());
  return recorded.status().message();
}

TEST(RecordedSpaceTest, KeepsTheOrderOfTheFileAndWhatEachConfigTook) {
  const auto recorded =
      ReadRecordedSpace(fmt::format("y,x,{}{}{}", kTrialColumns, "8,a,ok,1.5,100,2,30,4\r\n",
                                    "4,b,RuntimeFailedConfig,,50,,,1\n"));

  ASSERT_TRUE(recorded.ok()) << recorded.status().message();
  ASSERT_EQ(recorded->space.size(), 2u);
  EXPECT_EQ(Text(recorded->space.At(0)), "x=a,y=8");
  EXPECT_EQ(Text(recorded->space.At(1)), "x=b,y=4");
  EXPECT_EQ(recorded->trials[0], (RecordedTrial{1.5, 100, 2, 30, 4}));
  EXPECT_EQ(recorded->trials[0].charged_ms(), 136);
  EXPECT_EQ(recorded->trials[1].time_ms, std::nullopt);
  EXPECT_EQ(recorded->trials[1].charged_ms(), 51);
}

TEST(RecordedSpaceTest, AByteOrderMarkIsNoPartOfTheFirstName) {
  const auto recorded =
      ReadRecordedSpace(fmt::format("\xef\xbb\xbfx,{}{}", kTrialColumns, "8,ok,1.5,100,2,30,4\n"));

  ASSERT_TRUE(recorded.ok()) << recorded.status().message();
  EXPECT_EQ(Text(recorded->space.At(0)), "x=8");
}

TEST(RecordedSpaceTest, WhatCannotBeReadIsNamedWithItsLine) {
  const std::string header = fmt::format("x,{}", kTrialColumns);

  EXPECT_EQ(ErrorOf(""), "A recorded space needs a line that names its columns.");
  EXPECT_NE(ErrorOf("x,status,time_ms\n").find("has to name parameters"), std::string::npos);
  EXPECT_NE(ErrorOf(kTrialColumns).find("has to name parameters"), std::string::npos);
  EXPECT_EQ(ErrorOf(header + "1,ok,1\n"), "Line 2: 3 fields, where the first line names 7.");
  EXPECT_EQ(ErrorOf(header + "1,ok,1,1,1,1,1\n2,ok,soon,1,1,1,1\n"),
            "Line 3: Column 'time_ms' has 'soon' where it needs milliseconds.");
  EXPECT_EQ(ErrorOf(header + "1,ok,,1,1,1,1\n"),
            "Line 2: A config that worked needs a time above 0.");
  EXPECT_EQ(ErrorOf(header + "1,ok,1,-1,1,1,1\n"),
            "Line 2: Column 'compile_ms' has '-1' where it needs milliseconds.");
  for (const std::string none : {"1e308", "5e-324", "nan", "inf"}) {
    EXPECT_EQ(ErrorOf(header + "1,ok,1,1," + none + ",1,1\n"),
              "Line 2: Column 'verification_ms' has '" + none + "' where it needs milliseconds.");
  }
  EXPECT_EQ(ErrorOf(header + "1,failed,,1,1,1,1\n"),
            "A recorded space needs a config that worked.");
  EXPECT_EQ(ErrorOf(header + "1,ok,1,1,1,1,1\n1,ok,1,1,1,1,1\n"), "Config 'x=1' is listed twice.");
}

}  // namespace
}  // namespace attune
