#include "attune/space/config.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

TEST(ParameterValueTest, TheThreeKindsCannotBeConfused) {
  EXPECT_EQ(Text(ParameterValue(int64_t{16})), "16");
  EXPECT_EQ(Text(ParameterValue(16.0)), "16.0");
  EXPECT_EQ(Text(ParameterValue(0.5)), "0.5");
  EXPECT_EQ(Text(ParameterValue(1e22)), "1e+22");
  EXPECT_EQ(Text(ParameterValue(-0.0)), "-0.0");
  EXPECT_EQ(Text(ParameterValue(std::string("any"))), "any");
}

TEST(ParameterValueTest, NumbersRoundTripBitForBit) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    const double real =
        std::ldexp(random.Uniform() - 0.5, static_cast<int>(random.Below(600)) - 300);
    const auto integer = static_cast<int64_t>(random.Next());

    EXPECT_EQ(ParseParameterValue(Text(ParameterValue(real))), ParameterValue(real));
    EXPECT_EQ(ParseParameterValue(Text(ParameterValue(integer))), ParameterValue(integer));
  }
}

TEST(ParameterValueTest, WordsThatLookLikeSpecialDoublesStayWords) {
  for (const char* word : {"inf", "nan", "infinity", "jit:avx512_core", "_x", ":any"}) {
    EXPECT_EQ(ParseParameterValue(word), ParameterValue(std::string(word)));
    EXPECT_TRUE(IsWellFormed(ParseParameterValue(word))) << word;
  }
}

TEST(ParameterValueTest, TextThatIsNoValueIsNotWellFormed) {
  for (const char* text : {"", "-", "-inf", "0x10", "1e999", "+5", "a b", "a,b", "a=b", "12ab"}) {
    EXPECT_FALSE(IsWellFormed(ParseParameterValue(text))) << text;
  }
  EXPECT_FALSE(IsWellFormed(ParameterValue(std::numeric_limits<double>::infinity())));
}

TEST(ConfigTest, TextIsSortedAndReadsBackInAnyOrder) {
  const Config config = {{"tile_m", int64_t{64}}, {"alpha", 0.25}, {"layout", std::string("any")}};

  EXPECT_EQ(Text(config), "alpha=0.25,layout=any,tile_m=64");
  EXPECT_EQ(*ParseConfig("tile_m=64,alpha=0.25,layout=any"), config);
  EXPECT_EQ(*ParseConfig(Text(config)), config);
  EXPECT_EQ(*ParseConfig(""), Config());
}

TEST(ConfigTest, ErrorsNameTheColumn) {
  const auto message = [](std::string_view text) { return ParseConfig(text).status().message(); };

  EXPECT_TRUE(message("a=1,").starts_with("Column 5:"));
  EXPECT_TRUE(message(",a=1").starts_with("Column 1:"));
  EXPECT_TRUE(message("a=1,2b=3").starts_with("Column 5:"));
  EXPECT_TRUE(message("a=1,a=1").starts_with("Column 5:"));
  EXPECT_TRUE(message("a=1,b=").starts_with("Column 7:"));
  EXPECT_TRUE(message("a=1,b").starts_with("Column 5:"));
}

TEST(ConfigTest, ParametersAreReadByType) {
  const Config config = {{"tile", int64_t{8}}, {"layout", std::string("nhwc")}};

  EXPECT_EQ(IntegerAt(config, "tile"), 8);
  EXPECT_EQ(StringAt(config, "layout"), "nhwc");
}

}  // namespace
}  // namespace attune
