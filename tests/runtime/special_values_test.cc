// A program that sets ieee_special_values gets only solvers that follow IEEE 754.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr const char* kKept = "device ieee_special_values=1";

RuntimeHandle MakeStrict() {
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = ATTUNE_NEVER;
  options.ieee_special_values = 1;
  return MakeRuntime(options);
}

std::string Explanation(attune_runtime* runtime) {
  char* json = nullptr;
  if (attune_explain(runtime, "gemm@1{m=8,n=8,k=8}", &json) != ATTUNE_OK) {
    return attune_last_message();
  }
  const std::string text = json;
  attune_free(json);
  return text;
}

TEST(SpecialValues, WithoutTheFieldAnySolverServes) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), 8)) << attune_last_message();
  EXPECT_THAT(Explanation(runtime.get()), HasSubstr("\"ieee_special_values\": false"));
}

TEST(SpecialValues, TheFieldLeavesOutSolversThatMayLoseThem) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeStrict();
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_FALSE(Multiply(runtime.get(), 8));
  EXPECT_THAT(attune_last_message(), HasSubstr("fake.library@1 may lose NaN and infinity"));
}

TEST(SpecialValues, TheFieldKeepsSolversWithTheTrait) {
  RuntimeWorld world(kKept);
  const RuntimeHandle runtime = MakeStrict();
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), 8)) << attune_last_message();
  EXPECT_THAT(Explanation(runtime.get()), HasSubstr("\"ieee_special_values\": true"));
}

TEST(SpecialValues, TheVariableDoesTheSame) {
  RuntimeWorld world;
  world.Set("ATTUNE_IEEE_SPECIAL_VALUES", "1");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_FALSE(Multiply(runtime.get(), 8));

  world.Set("ATTUNE_IEEE_SPECIAL_VALUES", "yes");
  EXPECT_EQ(MakeRuntime(ATTUNE_NEVER), nullptr);
  EXPECT_THAT(attune_last_message(), HasSubstr("ATTUNE_IEEE_SPECIAL_VALUES is 'yes'"));
}

TEST(SpecialValues, AForcedChoiceServesWithoutTheTrait) {
  RuntimeWorld world;
  world.Set("ATTUNE_FORCE", "fake.library");
  const RuntimeHandle runtime = MakeStrict();
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), 8)) << attune_last_message();
}

TEST(SpecialValues, ARecordOfASolverThatMayLoseThemIsSkippedWithTheReason) {
  RuntimeWorld world;
  {
    const RuntimeHandle tuning = MakeRuntime(ATTUNE_INLINE, kTimeForAllMs);
    ASSERT_NE(tuning, nullptr) << attune_last_message();
    ASSERT_TRUE(Multiply(tuning.get(), 8)) << attune_last_message();
  }
  const RuntimeHandle runtime = MakeStrict();
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_FALSE(Multiply(runtime.get(), 8));
  EXPECT_THAT(attune_last_message(), HasSubstr("may lose NaN and infinity"));
}

// A column of NaN or infinity times 0, which BLIS's own gemv skips, and NaN in C with beta 0.
TEST(SpecialValues, EverySolverOfTheProcessorKeepsThem) {
  for (const char* solver : {"host.openblas-gemm", "host.blis-gemm", "host.libxsmm-gemm",
                             "host.eigen-gemm", "host.packed-gemm", "host.reference-gemm", ""}) {
    RuntimeWorld world;
    world.Set("ATTUNE_DEVICE", "cpu");
    world.Set("ATTUNE_FORCE", solver);
    const RuntimeHandle runtime = MakeStrict();
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    constexpr int64_t kRows = 700, kDepth = 51;
    for (const double special :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      std::vector<double> a(kRows * kDepth, 1), b(kDepth, 1), c(kRows, std::nan(""));
      for (int64_t i = 0; i < kRows; ++i)
        a[static_cast<size_t>(i + (kDepth - 1) * kRows)] = special;
      b[kDepth - 1] = 0;
      attune_gemm gemm = {};
      gemm.m = kRows;
      gemm.n = 1;
      gemm.k = kDepth;
      gemm.type = ATTUNE_F64;
      attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
      arguments.a = a.data();
      arguments.b = b.data();
      arguments.c = c.data();
      arguments.alpha = 1;

      const attune_code code = attune_run_gemm(runtime.get(), &gemm, &arguments);

      if (code == ATTUNE_UNSUPPORTED) continue;  // Its library is not installed.
      ASSERT_EQ(code, ATTUNE_OK) << solver << ": " << attune_last_message();
      for (const double value : c) ASSERT_TRUE(std::isnan(value)) << solver << ' ' << special;

      // C holds NaN now, and beta 0 ignores it.
      for (double& value : a) value = 1;
      ASSERT_EQ(attune_run_gemm(runtime.get(), &gemm, &arguments), ATTUNE_OK);
      for (const double value : c) ASSERT_EQ(value, kDepth - 1) << solver;
    }
  }
}

}  // namespace
}  // namespace attune
