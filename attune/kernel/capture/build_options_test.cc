#include "attune/kernel/capture/build_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> MacrosOf(std::string_view text) {
  std::vector<std::string> macros;
  for (const Macro& macro : TakeApart(text, "opencl", "/home").macros) {
    macros.push_back(macro.name + "=" + macro.value);
  }
  return macros;
}

TEST(BuildOptionsTest, MacrosAreTheLastOfTheirName) {
  EXPECT_THAT(MacrosOf("-DA -D B=2  -DC=\"x y\" -D 'E=(1+2)' -DA=3"),
              ElementsAre("B=2", "C=x y", "E=(1+2)", "A=3"));
  EXPECT_THAT(MacrosOf("-D"), IsEmpty());
  EXPECT_THAT(MacrosOf(""), IsEmpty());
}

TEST(BuildOptionsTest, FoldersBecomeWholeAndWhatIsOursIsLeftOut) {
  const BuildOptions options =
      TakeApart("-cl-std=CL1.2 -I inc -I/abs -cl-mad-enable junk -I 'a b'", "opencl", "/home/me");
  EXPECT_THAT(options.further, ElementsAre("-I/home/me/inc", "-I/abs", "-cl-mad-enable"));
  EXPECT_THAT(options.left_out, ElementsAre("junk", "-I/home/me/a b"));
  EXPECT_THAT(
      TakeApart("-arch sm_90 --gpu-architecture=sm_80 --std=c++14 -use_fast_math", "cuda", "/")
          .further,
      ElementsAre("--std=c++14", "-use_fast_math"));
}

TEST(BuildOptionsTest, WhatACudaKernelIsWrittenForGoesAlong) {
  const BuildOptions options =
      TakeApart("-default-device -DN=3 --device-as-default-execution-space", "cuda", "/");
  EXPECT_THAT(options.further,
              ElementsAre("-default-device", "--device-as-default-execution-space"));
  ASSERT_EQ(options.macros.size(), 1u);
  EXPECT_EQ(options.macros[0].name, "N");
}

TEST(BuildOptionsTest, ParametersAreNumbersAndNames) {
  EXPECT_EQ(ParameterOf({"A", "16"}), ParameterValue(int64_t{16}));
  EXPECT_EQ(ParameterOf({"A", "-3"}), ParameterValue(int64_t{-3}));
  EXPECT_EQ(ParameterOf({"A", "0.5"}), ParameterValue(0.5));
  EXPECT_EQ(ParameterOf({"A", "float"}), ParameterValue(std::string("float")));
  for (const char* value : {"", "016", "1u", "0.5f", "(1)", "a+b", "99999999999", "inf.", "x y"}) {
    EXPECT_EQ(ParameterOf({"A", value}), std::nullopt) << value;
  }
  EXPECT_EQ(ParameterOf({"F(x)", "1"}), std::nullopt);
}

}  // namespace
}  // namespace attune::capture
