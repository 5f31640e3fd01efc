// What a program gets that asks for solvers which spread NaN and infinity as IEEE 754 has it.
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

TEST(SpecialValues, TheFieldLeavesOutWhoMayLoseThem) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeStrict();
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_FALSE(Multiply(runtime.get(), 8));
  EXPECT_THAT(attune_last_message(), HasSubstr("fake.library@1 may lose NaN and infinity"));
}

TEST(SpecialValues, TheFieldKeepsTheOthers) {
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

TEST(SpecialValues, AForcedChoiceServesAllTheSame) {
  RuntimeWorld world;
  world.Set("ATTUNE_FORCE", "fake.library");
  const RuntimeHandle runtime = MakeStrict();
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_TRUE(Multiply(runtime.get(), 8)) << attune_last_message();
}

TEST(SpecialValues, ARecordOfOneThatMayLoseThemIsPassedOverWithTheReason) {
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

// Every solver of the processor, forced: a column of NaN or infinity times 0, where BLIS once lost
// both, and NaN in C with and without beta.
TEST(SpecialValues, EverySolverOfTheProcessorSpreadsThem) {
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

      // And what is no NaN any more does not stay one.
      for (double& value : a) value = 1;
      ASSERT_EQ(attune_run_gemm(runtime.get(), &gemm, &arguments), ATTUNE_OK);
      for (const double value : c) ASSERT_EQ(value, kDepth - 1) << solver;
    }
  }
}

}  // namespace
}  // namespace attune
