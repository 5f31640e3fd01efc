// The answers to a program about its choices: attune_gemm_solutions and attune_explain.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

attune_gemm Square(int64_t size) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  gemm.alignment_bytes = 4;
  return gemm;
}

std::vector<attune_solution> SolutionsOf(attune_runtime* runtime, const attune_gemm& gemm) {
  std::vector<attune_solution> solutions(64);
  solutions[0].struct_size = sizeof(attune_solution);
  size_t count = 0;
  EXPECT_EQ(attune_gemm_solutions(runtime, &gemm, 1, 0, solutions.data(), solutions.size(), &count),
            ATTUNE_OK)
      << attune_last_message();
  EXPECT_LE(count, solutions.size());
  solutions.resize(count);
  return solutions;
}

bool IsOf(const attune_solution& solution, const std::string& solver) {
  return std::string(solution.candidate).starts_with(solver + "@");
}

nlohmann::json Explained(attune_runtime* runtime) {
  char* json = nullptr;
  EXPECT_EQ(attune_explain(runtime, "gemm@1{m=16,n=16,k=16,align=4}", &json), ATTUNE_OK)
      << attune_last_message();
  const nlohmann::json explained = nlohmann::json::parse(json == nullptr ? "{}" : json);
  attune_free(json);
  return explained;
}

// One is clearly the quickest, the default clearly slower than those that only a screening timed.
// All take so long that a share of it is enough to create any of them, on a busy machine as well.
constexpr char kScript[] =
    "device listed=3;* time_ns=50000000;fake.library time_ns=30000000;fake.listed time_ns=25000000;"
    "fake.tiled time_ns=20000000;fake.tiled{tile=16,unroll=4,threads=2} time_ns=10000000";
constexpr char kQuickest[] = "fake.tiled@1{threads=2,tile=16,unroll=4}";

TEST(Answers, SolutionsOfATunedProblemAreOrderedByTime) {
  RuntimeWorld world(kScript);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE, kTimeForAllMs);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();

  const std::vector<attune_solution> solutions = SolutionsOf(runtime.get(), Square(16));

  ASSERT_GE(solutions.size(), 4u);
  EXPECT_STREQ(solutions.front().candidate, kQuickest);
  EXPECT_EQ(solutions.front().is_measured, 1);
  EXPECT_EQ(solutions.front().is_ready, 1);
  EXPECT_EQ(solutions.front().provenance, ATTUNE_FROM_RECORD);
  EXPECT_NEAR(solutions.front().time_ns, 10e6, 1e6);
  std::vector<double> times_ns;
  for (const attune_solution& solution : solutions) {
    EXPECT_EQ(solution.is_measured, solution.time_ns > 0 ? 1 : 0) << solution.candidate;
    // Unknown times have no order, and come last.
    times_ns.push_back(solution.time_ns > 0 ? solution.time_ns : 1e18);
  }
  EXPECT_TRUE(std::is_sorted(times_ns.begin(), times_ns.end())) << testing::PrintToString(times_ns);
  const bool has_default =
      std::any_of(solutions.begin(), solutions.end(), [](const attune_solution& solution) {
        return IsOf(solution, "fake.library") && solution.is_measured == 1;
      });
  EXPECT_TRUE(has_default);
}

TEST(Answers, ASolutionIsDynamicIfItsSolverIs) {
  RuntimeWorld world(kScript);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE, kTimeForAllMs);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();

  const std::vector<attune_solution> solutions = SolutionsOf(runtime.get(), Square(16));

  bool has_listed = false;
  for (const attune_solution& solution : solutions) {
    const bool is_listed = IsOf(solution, "fake.listed");
    has_listed = has_listed || is_listed;
    EXPECT_EQ(solution.is_dynamic, is_listed ? 0 : 1) << solution.candidate;
  }
  EXPECT_TRUE(has_listed);
}

TEST(Answers, WhatIsBetterIsNamedWhileItsKernelIsNotAtHand) {
  RuntimeWorld world(kScript);
  {
    const RuntimeHandle tuning = MakeRuntime(ATTUNE_INLINE, kTimeForAllMs);
    ASSERT_NE(tuning, nullptr) << attune_last_message();
    ASSERT_TRUE(Multiply(tuning.get(), 16)) << attune_last_message();
  }
  ASSERT_GT(std::filesystem::remove_all(world.folder() / "cache"), 1u);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  const nlohmann::json before = Explained(runtime.get());
  const std::vector<attune_solution> solutions = SolutionsOf(runtime.get(), Square(16));
  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
  ASSERT_TRUE(IsIdle(runtime.get()));
  const nlohmann::json after = Explained(runtime.get());

  EXPECT_EQ(before["better"], kQuickest);
  EXPECT_EQ(before["is_tuned"], true);
  EXPECT_NE(before["serves"], kQuickest);
  EXPECT_EQ(before["options"][0]["candidate"], kQuickest);
  EXPECT_EQ(before["options"][0]["is_ready"], false);
  ASSERT_FALSE(solutions.empty());
  EXPECT_STREQ(solutions.front().candidate, kQuickest);
  EXPECT_EQ(solutions.front().is_ready, 0);
  // The background has built it.
  EXPECT_EQ(after["serves"], kQuickest);
  EXPECT_EQ(after["better"], nullptr);
  EXPECT_EQ(CountersOf(runtime.get()).builds_in_background, 1u);
}

}  // namespace
}  // namespace attune
