#include "attune/problem/target.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(TargetTest, TextIsReadableAndReadsBack) {
  const Target target = {"host", "AMD EPYC 9654", "x86-64-v4", 2, {{"isa", "avx512_bf16 amx"}}};

  EXPECT_EQ(Text(target), "host:AMD EPYC 9654:x86-64-v4:2{isa=avx512_bf16 amx}");
  EXPECT_EQ(*ParseTarget(Text(target)), target);
}

TEST(TargetTest, AnyBytesSurviveInEveryPart) {
  const Target target = {"open:cl",
                         "Intel(R) Xeon(R) @ 2.00GHz, {1}",
                         "a%b=\n",
                         0,
                         {{"k,=}", std::string("\0\xff", 2)}, {"empty", ""}}};

  EXPECT_EQ(*ParseTarget(Text(target)), target);
}

TEST(TargetTest, ErrorsNameTheColumn) {
  const auto message = [](std::string_view text) { return ParseTarget(text).status().message(); };

  EXPECT_NE(message("host:cpu").find("Column 6:"), std::string::npos);
  EXPECT_NE(message("host:c/pu:x:1{}").find("Column 6:"), std::string::npos);
  EXPECT_NE(message("host:cpu:x:many{}").find("Column 12:"), std::string::npos);
  EXPECT_NE(message("host:cpu:x:1{a=1,a=2}").find("Column 18:"), std::string::npos);
  EXPECT_NE(message("host:cpu:x:1{a}").find("Column 14:"), std::string::npos);
  EXPECT_NE(message("").find("Column 1:"), std::string::npos);
}

TEST(EnvironmentTest, LinesAreSortedEscapedAndReadBack) {
  const Environment environment = {{"library.onednn", "2.6.3 (f1cf31a)"},
                                   {"host.kernel", "6.1.0\nx"}};

  EXPECT_EQ(Text(environment), "host.kernel=6.1.0%0Ax\nlibrary.onednn=2.6.3 %28f1cf31a%29\n");
  EXPECT_EQ(*ParseEnvironment(Text(environment)), environment);
  EXPECT_EQ(*ParseEnvironment(""), Environment());
}

TEST(EnvironmentTest, BrokenLinesAreRefused) {
  EXPECT_FALSE(ParseEnvironment("a=1\na=2\n").ok());
  EXPECT_FALSE(ParseEnvironment("a\n").ok());
  EXPECT_FALSE(ParseEnvironment("a=1\n\nb=2\n").ok());
  EXPECT_FALSE(ParseEnvironment("a=%zz\n").ok());
}

}  // namespace
}  // namespace attune
