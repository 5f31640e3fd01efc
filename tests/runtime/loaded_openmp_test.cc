// A program that has loaded an OpenMP runtime before it makes a runtime of attune.
#include <omp.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/kernels.hpp"
#include "attune/record/record_store.h"
#include "storage/sql/sql_store.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kWaiting = "OMP_WAIT_POLICY";
constexpr const char* kNote = "was loaded before the run time, with OMP_WAIT_POLICY unset";

std::string Explanation(attune_runtime* runtime) {
  char* json = nullptr;
  if (attune_explain(runtime, "gemm@1{m=64,n=64,k=64}", &json) != ATTUNE_OK) {
    return attune_last_message();
  }
  std::string text = json;
  attune_free(json);
  return text;
}

class LoadedOpenMpTest : public testing::Test {
 protected:
  LoadedOpenMpTest() {
    world_.Set("ATTUNE_DEVICE", "cpu");
    world_.Set(kWaiting, std::nullopt);
  }
  void SetUp() override { ASSERT_GT(omp_get_max_threads(), 0); }

  RuntimeWorld world_;
};

TEST_F(LoadedOpenMpTest, ThePolicyThatNobodySaidInTimeIsNotClaimed) {
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_EQ(std::getenv(kWaiting), nullptr);
  EXPECT_THAT(Explanation(runtime.get()), HasSubstr(kNote));
}

TEST_F(LoadedOpenMpTest, APolicySetToNothingWasNotSaid) {
  world_.Set(kWaiting, "");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_THAT(Explanation(runtime.get()), HasSubstr(kNote));
}

TEST_F(LoadedOpenMpTest, ASecondRunTimeSaysTheSame) {
  const RuntimeHandle first = MakeRuntime(ATTUNE_NEVER);
  const RuntimeHandle second = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(second, nullptr) << attune_last_message();

  EXPECT_THAT(Explanation(second.get()), HasSubstr(kNote));
}

TEST_F(LoadedOpenMpTest, APolicyThatTheUserSetIsBelieved) {
  world_.Set(kWaiting, "passive");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_THAT(Explanation(runtime.get()), Not(HasSubstr(kNote)));
}

TEST_F(LoadedOpenMpTest, WhatTheTunerMeasuredWithPassiveThreadsHolds) {
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 64)) << attune_last_message();
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  const RuntimeHandle next = MakeRuntime(ATTUNE_NEVER);
  ASSERT_TRUE(Multiply(next.get(), 64));
  EXPECT_EQ(CountersOf(next.get()).by_provenance[ATTUNE_FROM_COMPATIBLE], 0u);
  EXPECT_EQ(CountersOf(next.get()).skipped_records, 0u);
}

// Workers measure it, without the libraries that this process has loaded.
TEST_F(LoadedOpenMpTest, AKernelOfThisProgramIsTunedByChildrenThatWaitPassively) {
  world_.Set("OMP_PROC_BIND", std::nullopt);
  world_.Set("OPENBLAS_THREAD_TIMEOUT", std::nullopt);
  world_.Set("ATTUNE_KERNEL_PATH", std::nullopt);
  KernelDescription description(
      "twice",
      "__kernel void twice(__global const float* x, __global float* y, int n) {\n"
      "  const int i = get_global_id(0);\n  if (i < n) y[i] = 2 * x[i];\n}\n");
  description.Size("n", 64)
      .Parameter("BLOCK", {8, 16})
      .In("x", "f32", {"n"})
      .Out("y", "f32", {"n"})
      .Scalar("int", "n")
      .Launch("twice", {"BLOCK"}, {"ceil_div(n, BLOCK)"});
  std::unique_ptr<Kernel> kernel;
  try {
    kernel = std::make_unique<Kernel>(description.Write(world_.folder().string()));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }

  kernel->Tune({{"n", 64}});

  const auto store = OpenSqlStore(world_.database());
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::string waiting;
  ASSERT_TRUE((*store)
                  ->Visit({},
                          [&](const RecordedSet& set) {
                            waiting = set.set.environment.at("policy.omp_wait");
                            return Status::Ok();
                          })
                  .ok());
  EXPECT_EQ(waiting, "passive");
  EXPECT_EQ(std::getenv(kWaiting), nullptr);
}

}  // namespace
}  // namespace attune
