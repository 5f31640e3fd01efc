// A program that brings less memory than the quickest candidate wants.
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Workspace : public ::testing::Test {
 protected:
  Workspace() : x_(8 * 24 * 24, 1), w_(8 * 8 * 9, 1), y_(8 * 22 * 22) {
    world_.Set("ATTUNE_DEVICE", "cpu");
    world_.Set("ATTUNE_DB", "");
    conv_.in_channels = conv_.out_channels = 8;
    conv_.in[1] = conv_.in[2] = 24;
    conv_.filter[1] = conv_.filter[2] = 3;
    conv_.alignment_bytes = 4;
  }

  RuntimeHandle Make(const char* force) {
    world_.Set("ATTUNE_FORCE", force == nullptr ? std::nullopt : std::optional<std::string>(force));
    return MakeRuntime(ATTUNE_NEVER);
  }

  // With a workspace of so many bytes, behind which nothing may be written.
  attune_code Run(attune_runtime* runtime, size_t workspace_bytes) {
    std::vector<std::byte> memory(workspace_bytes + 64, std::byte{0x5a});
    attune_arguments arguments = Arguments();
    arguments.workspace = memory.data();
    arguments.workspace_bytes = workspace_bytes;
    const attune_code code = attune_run_conv(runtime, &conv_, &arguments);
    EXPECT_EQ(std::vector<std::byte>(memory.end() - 64, memory.end()),
              std::vector<std::byte>(64, std::byte{0x5a}));
    return code;
  }
  attune_arguments Arguments() {
    y_.assign(y_.size(), -1);
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = x_.data();
    arguments.b = w_.data();
    arguments.c = y_.data();
    return arguments;
  }
  bool IsRight() const { return y_ == std::vector<float>(y_.size(), 72); }

  std::string Text() {
    char* text = nullptr;
    EXPECT_EQ(attune_conv_text(&conv_, &text), ATTUNE_OK);
    const std::string copy = text;
    attune_free(text);
    return copy;
  }
  std::vector<attune_solution> Solutions(attune_runtime* runtime, uint64_t limit_bytes) {
    std::vector<attune_solution> solutions(64);
    solutions[0].struct_size = sizeof(attune_solution);
    size_t count = 0;
    EXPECT_EQ(attune_conv_solutions_within(runtime, &conv_, limit_bytes, solutions.data(),
                                           solutions.size(), &count),
              ATTUNE_OK)
        << attune_last_message();
    solutions.resize(count);
    return solutions;
  }

  RuntimeWorld world_;
  attune_conv conv_{};
  std::vector<float> x_, w_, y_;
};

TEST_F(Workspace, TheBestThatFitsIntoTheCallersComputes) {
  const RuntimeHandle runtime = Make(nullptr);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_arguments arguments = Arguments();
  ASSERT_EQ(attune_run_conv(runtime.get(), &conv_, &arguments), ATTUNE_OK);

  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100'000}, size_t{1} << 22}) {
    ASSERT_EQ(Run(runtime.get(), bytes), ATTUNE_OK) << bytes << ": " << attune_last_message();
    EXPECT_TRUE(IsRight()) << bytes;
  }
}

TEST_F(Workspace, IfNothingFitsTheErrorNamesWhatIsNeededAndWhatIsGiven) {
  const RuntimeHandle runtime = Make("host.im2col-openblas");
  if (runtime == nullptr) GTEST_SKIP() << attune_last_message();
  ASSERT_EQ(Run(runtime.get(), size_t{1} << 22), ATTUNE_OK) << attune_last_message();

  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(Run(runtime.get(), 16), ATTUNE_RESOURCE_EXHAUSTED);
    EXPECT_THAT(attune_last_message(), HasSubstr("bytes of workspace for conv@1{"));
    EXPECT_THAT(attune_last_message(), HasSubstr("above the limit of 16."));
  }
  EXPECT_EQ(Run(runtime.get(), size_t{1} << 22), ATTUNE_OK);
  EXPECT_TRUE(IsRight());
}

TEST_F(Workspace, APlanOfWhichNothingFitsIntoWhatARunBringsSaysSo) {
  const RuntimeHandle forced = Make("host.im2col-openblas");
  if (forced == nullptr) GTEST_SKIP() << attune_last_message();
  attune_plan* plan = nullptr;
  ASSERT_EQ(attune_plan_conv(forced.get(), &conv_, ATTUNE_NO_LIMIT, &plan), ATTUNE_OK);
  const uint64_t needed = attune_plan_workspace_bytes(plan);
  ASSERT_GT(needed, 0U);
  std::vector<std::byte> memory(needed);
  attune_arguments arguments = Arguments();
  arguments.workspace = memory.data();
  arguments.workspace_bytes = needed;
  EXPECT_EQ(attune_plan_run(plan, &arguments), ATTUNE_OK);
  EXPECT_TRUE(IsRight());

  arguments.workspace_bytes = needed - 1;
  EXPECT_EQ(attune_plan_run(plan, &arguments), ATTUNE_RESOURCE_EXHAUSTED);

  EXPECT_THAT(attune_last_message(), HasSubstr(std::to_string(needed) + " bytes of workspace"));
  attune_plan_release(plan);
}

TEST_F(Workspace, SolutionsLeaveOutWhatDoesNotFit) {
  const RuntimeHandle runtime = Make(nullptr);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  const auto all = Solutions(runtime.get(), ATTUNE_NO_LIMIT);
  const auto none = Solutions(runtime.get(), 0);

  EXPECT_LT(none.size(), all.size());
  for (const attune_solution& solution : none) {
    EXPECT_EQ(solution.workspace_bytes, 0U) << solution.candidate;
  }
  int with_workspace = 0;
  for (const attune_solution& solution : all) {
    EXPECT_EQ(solution.is_workspace_known, solution.is_ready) << solution.candidate;
    with_workspace += solution.workspace_bytes > 0 ? 1 : 0;
  }
  EXPECT_GT(with_workspace, 0);
}

TEST_F(Workspace, QuestionsKeepToTheLimitAndSayIfNothingFits) {
  const RuntimeHandle runtime = Make("host.im2col-openblas");
  if (runtime == nullptr) GTEST_SKIP() << attune_last_message();
  char* json = nullptr;
  int stalls = -1;
  size_t count = 0;

  EXPECT_EQ(attune_explain_within(runtime.get(), Text().c_str(), 16, &json),
            ATTUNE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(attune_last_message(), HasSubstr("above the limit of 16."));
  EXPECT_EQ(attune_would_stall_within(runtime.get(), Text().c_str(), 16, &stalls),
            ATTUNE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(attune_conv_solutions_within(runtime.get(), &conv_, 16, nullptr, 0, &count),
            ATTUNE_RESOURCE_EXHAUSTED);

  EXPECT_EQ(attune_would_stall_within(runtime.get(), Text().c_str(), 1 << 22, &stalls), ATTUNE_OK);
  EXPECT_EQ(stalls, 0);
  ASSERT_EQ(attune_explain_within(runtime.get(), Text().c_str(), 1 << 22, &json), ATTUNE_OK);
  EXPECT_THAT(json, HasSubstr("host.im2col-openblas"));
  EXPECT_THAT(json, Not(HasSubstr("\"workspace_bytes\": null")));
  attune_free(json);
}

}  // namespace
}  // namespace attune
