// Bound plans: limits, workspaces, and arguments that are wrong.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

struct PlanDeleter {
  void operator()(attune_plan* plan) const { attune_plan_release(plan); }
};
using PlanHandle = std::unique_ptr<attune_plan, PlanDeleter>;

attune_gemm Square(int64_t size) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  return gemm;
}

attune_conv SmallConv() {
  attune_conv conv{};
  conv.in_channels = 3;
  conv.out_channels = 5;
  for (int i = 1; i < 3; ++i) {
    conv.in[i] = 12;
    conv.filter[i] = 3;
    conv.pad[i] = 1;
  }
  return conv;
}

PlanHandle PlanGemm(attune_runtime* runtime, const attune_gemm& gemm, int alpha, int beta) {
  attune_plan* plan = nullptr;
  (void)attune_plan_gemm(runtime, &gemm, alpha, beta, ATTUNE_NO_LIMIT, &plan);
  return PlanHandle(plan);
}

struct Operands {
  std::vector<float> a = std::vector<float>(4096, 1);
  std::vector<float> b = std::vector<float>(4096, 1);
  std::vector<float> bias = std::vector<float>(64, 100);
  std::vector<float> c = std::vector<float>(4096, -1);

  attune_arguments arguments() {
    attune_arguments result = ATTUNE_ARGUMENTS_INIT;
    result.a = a.data();
    result.b = b.data();
    result.c = c.data();
    return result;
  }
};

TEST(Plan, ABiasThatIsNotThereOrNotWantedIsRefusedByName) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_gemm with_bias = Square(8);
  with_bias.bias = ATTUNE_BIAS_PER_ROW;
  const PlanHandle plain = PlanGemm(runtime.get(), Square(8), 1, 0);
  const PlanHandle biased = PlanGemm(runtime.get(), with_bias, 1, 0);
  ASSERT_TRUE(plain != nullptr && biased != nullptr) << attune_last_message();
  Operands operands;
  attune_arguments without = operands.arguments();
  attune_arguments with = without;
  with.bias = operands.bias.data();

  EXPECT_EQ(attune_plan_run(plain.get(), &with), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("has not a bias"));
  EXPECT_EQ(attune_plan_run(biased.get(), &without), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("bring not one"));
  EXPECT_EQ(operands.c[0], -1);
  ASSERT_EQ(attune_plan_run(biased.get(), &with), ATTUNE_OK);
  EXPECT_EQ(operands.c[0], 108);
}

TEST(Plan, ScalarsOfAnotherClassAreRefusedBecauseTheResultWouldBeWrong) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const PlanHandle plan = PlanGemm(runtime.get(), Square(8), 1, 0);
  ASSERT_NE(plan, nullptr) << attune_last_message();
  Operands operands;
  attune_arguments arguments = operands.arguments();

  arguments.beta = 0.5;
  EXPECT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("beta = 0"));
  arguments.beta = 0;
  arguments.alpha = 2;
  EXPECT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_INVALID_ARGUMENT);
  arguments.alpha = 1;
  EXPECT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_OK);
  EXPECT_EQ(operands.c[0], 8);
}

TEST(Plan, EveryNullArgumentIsRefused) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const attune_gemm gemm = Square(8);
  const attune_conv conv = SmallConv();
  attune_plan* out = nullptr;
  const PlanHandle plan = PlanGemm(runtime.get(), gemm, 1, 0);
  ASSERT_NE(plan, nullptr);
  Operands operands;
  attune_arguments arguments = operands.arguments();

  EXPECT_EQ(attune_plan_gemm(nullptr, &gemm, 1, 0, 0, &out), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_plan_gemm(runtime.get(), nullptr, 1, 0, 0, &out), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_plan_gemm(runtime.get(), &gemm, 1, 0, 0, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_plan_conv(runtime.get(), &conv, 0, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_plan_text(runtime.get(), nullptr, 0, &out), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_plan_run(nullptr, &arguments), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_plan_run(plan.get(), nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_run_gemm(runtime.get(), &gemm, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_run_gemm(nullptr, &gemm, &arguments), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_run_conv(runtime.get(), nullptr, &arguments), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_runtime_create(nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_synchronize(nullptr), ATTUNE_INVALID_ARGUMENT);
  EXPECT_EQ(attune_synchronize(runtime.get()), ATTUNE_OK);
  for (const void** operand : {&arguments.a, &arguments.b}) {
    const void* kept = *operand;
    *operand = nullptr;
    EXPECT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_INVALID_ARGUMENT);
    *operand = kept;
  }
  arguments.c = nullptr;
  EXPECT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_INVALID_ARGUMENT);
  attune_plan_release(nullptr);
  attune_runtime_destroy(nullptr);
}

TEST(Plan, AProblemThatCannotBeIsRefusedWithItsField) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_gemm gemm = Square(8);
  gemm.lda = 4;

  EXPECT_EQ(PlanGemm(runtime.get(), gemm, 1, 0), nullptr);
  EXPECT_THAT(attune_last_message(), HasSubstr("Leading dimension 4 of A"));
  EXPECT_EQ(PlanGemm(runtime.get(), Square(8), 7, 0), nullptr);
  EXPECT_THAT(attune_last_message(), HasSubstr("alpha_class"));
  attune_plan* out = nullptr;
  EXPECT_NE(attune_plan_text(runtime.get(), "gemm@1{m=", ATTUNE_NO_LIMIT, &out), ATTUNE_OK);
  EXPECT_EQ(out, nullptr);
}

TEST(Plan, ADriverCommandOfOneDirectionIsAProblem) {
  RuntimeWorld world;
  world.Set("ATTUNE_DEVICE", "cpu");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const std::string command = "MIOpenDriver conv -n 1 -c 2 -H 3 -W 3 -k 2 -y 1 -x 1 -F ";
  const std::vector<float> ones(18, 1);
  std::vector<float> c(18);
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = arguments.b = ones.data();
  arguments.c = c.data();
  attune_plan* out = nullptr;

  ASSERT_EQ(attune_plan_text(runtime.get(), (command + "1").c_str(), ATTUNE_NO_LIMIT, &out),
            ATTUNE_OK)
      << attune_last_message();
  const PlanHandle plan(out);
  ASSERT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_OK) << attune_last_message();
  EXPECT_THAT(c, testing::Each(2));

  EXPECT_EQ(attune_plan_text(runtime.get(), (command + "0").c_str(), ATTUNE_NO_LIMIT, &out),
            ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("means 3 problems"));
}

TEST(Plan, AWorkspaceLimitIsKeptAndTheCallersMemoryIsUsed) {
  RuntimeWorld world;
  world.Set("ATTUNE_DEVICE", "cpu");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const attune_conv conv = SmallConv();
  Operands operands;
  attune_arguments arguments = operands.arguments();
  std::vector<float> expected;
  for (const uint64_t limit : {ATTUNE_NO_LIMIT, uint64_t{65'536}, uint64_t{0}}) {
    attune_plan* made = nullptr;
    ASSERT_EQ(attune_plan_conv(runtime.get(), &conv, limit, &made), ATTUNE_OK)
        << attune_last_message();
    const PlanHandle plan(made);
    EXPECT_LE(attune_plan_workspace_bytes(plan.get()), limit);

    ASSERT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_OK) << attune_last_message();
    if (expected.empty()) expected = operands.c;
    EXPECT_EQ(operands.c, expected);

    std::vector<std::byte> workspace(attune_plan_workspace_bytes(plan.get()) + 1);
    attune_arguments with_workspace = arguments;
    with_workspace.workspace = workspace.data();
    // Too small: something that does with less computes.
    with_workspace.workspace_bytes = workspace.size() - 2;
    if (workspace.size() > 1) {
      ASSERT_EQ(attune_plan_run(plan.get(), &with_workspace), ATTUNE_OK);
    }
    with_workspace.workspace_bytes = workspace.size();
    ASSERT_EQ(attune_plan_run(plan.get(), &with_workspace), ATTUNE_OK);
    EXPECT_EQ(operands.c, expected);
  }
}

TEST(Plan, APlanFollowsTheSwapOfItsShape) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  const PlanHandle plan = PlanGemm(runtime.get(), Square(16), 1, 0);
  ASSERT_NE(plan, nullptr) << attune_last_message();
  Operands operands;
  const attune_arguments arguments = operands.arguments();

  ASSERT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_OK);
  ASSERT_TRUE(IsIdle(runtime.get()));
  ASSERT_EQ(attune_plan_run(plan.get(), &arguments), ATTUNE_OK);

  EXPECT_EQ(CountersOf(runtime.get()).swaps, 1u);
  EXPECT_EQ(operands.c[0], 16);
}

}  // namespace
}  // namespace attune
