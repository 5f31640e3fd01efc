// Processes of one user that miss the same kernel: one of them builds it, and no caller waits.
#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <memory>

#include "attune/compile/kernel_cache.h"
#include "attune/dispatch/test_server.h"

namespace attune {
namespace {

// The user's folder of kernels as one process has it; tells when the process wants to build.
class WatchedKernels final : public KernelCache {
 public:
  WatchedKernels(const std::filesystem::path& folder, std::latch& wanted)
      : folder_(std::move(*FolderKernelCache::Open(folder))), wanted_(wanted) {}

  std::optional<Artifact> Find(const BuildRecipe& recipe) override { return folder_->Find(recipe); }
  Status Store(const BuildRecipe& recipe, const Artifact& artifact) override {
    return folder_->Store(recipe, artifact);
  }
  BuildTurn AwaitTurn(const BuildRecipe& recipe) override {
    wanted_.count_down();
    return folder_->AwaitTurn(recipe);
  }
  KernelCacheCounters counters() const override { return folder_->counters(); }

 private:
  const std::unique_ptr<FolderKernelCache> folder_;
  std::latch& wanted_;
};

class SharedKernelsTest : public ::testing::Test {
 protected:
  SharedKernelsTest() { std::filesystem::remove_all(folder_); }
  ~SharedKernelsTest() override { std::filesystem::remove_all(folder_); }

  // What a package says that has the records of a dynamic solver, and not its kernel.
  static void MissKernelOf(TestMachine& machine, const Problem& problem) {
    machine.compiled->traits_.dynamic = true;
    machine.choices->Add(problem, ChoiceOf({machine.compiled->At(1)}));
  }
  static TestServerOptions OptionsWith(KernelCache& kernels) {
    TestServerOptions options;
    options.server.policy = MissPolicy::kNever;
    options.kernels = &kernels;
    return options;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / "attune_shared_kernels_test";
};

TEST_F(SharedKernelsTest, AMissingDynamicKernelIsBuiltOncePerUserInTheBackground) {
  std::latch wanted(2);
  TestMachine machines[2];
  WatchedKernels kernels[] = {{folder_, wanted}, {folder_, wanted}};
  TestServer servers[] = {{machines[0], OptionsWith(kernels[0])},
                          {machines[1], OptionsWith(kernels[1])}};
  // One kernel serves both sizes.
  const Problem problems[] = {ProductOf(4, 4, 4), ProductOf(5, 5, 5)};
  for (size_t i = 0; i < 2; ++i) {
    MissKernelOf(machines[i], problems[i]);
    // No build ends before both want one.
    machines[i].compiled->on_build = [&] { wanted.wait(); };
  }

  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(servers[i].SolverOfCall(problems[i]), "test.quick-gemm");
  }
  for (TestServer& server : servers) ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(machines[0].builds() + machines[1].builds(), 1);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(servers[i].SolverOfCall(problems[i]), "test.compiled-gemm");
    EXPECT_EQ(machines[i].builds_in_this_thread(), 0);
    EXPECT_EQ(servers[i]->counters().builds_in_caller, 0U);
    EXPECT_EQ(servers[i]->counters().builds_in_background,
              static_cast<uint64_t>(machines[i].builds()));
  }
}

TEST_F(SharedKernelsTest, WhatAProcessHasBuiltIsNotBuiltByALaterOne) {
  std::latch wanted(1);
  {
    TestMachine machine;
    WatchedKernels kernels(folder_, wanted);
    MissKernelOf(machine, ProductOf(4, 4, 4));
    TestServer server(machine, OptionsWith(kernels));
    server.Call(ProductOf(4, 4, 4));
    ASSERT_TRUE(server.WaitIdle());
    ASSERT_EQ(machine.builds(), 1);
  }
  TestMachine machine;
  const auto kernels = std::move(*FolderKernelCache::Open(folder_));
  MissKernelOf(machine, ProductOf(5, 5, 5));
  TestServer server(machine, OptionsWith(*kernels));

  server.Call(ProductOf(5, 5, 5));
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(ProductOf(5, 5, 5)), "test.compiled-gemm");
  EXPECT_EQ(machine.builds(), 0);
  EXPECT_EQ(server->counters().builds_in_background, 0U);
}

TEST_F(SharedKernelsTest, AKernelThatCannotBeBuiltIsTriedOnceAndTheStandInStays) {
  std::latch wanted(1);
  TestMachine machine;
  WatchedKernels kernels(folder_, wanted);
  MissKernelOf(machine, ProductOf(4, 4, 4));
  MissKernelOf(machine, ProductOf(5, 5, 5));
  machine.compiled->build_failure = Unavailable("The compiler is gone.");
  TestServer server(machine, OptionsWith(kernels));

  server.Call(ProductOf(4, 4, 4));
  server.Call(ProductOf(5, 5, 5));
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(ProductOf(5, 5, 5)), "test.quick-gemm");
  EXPECT_EQ(machine.builds(), 1);
  EXPECT_EQ(server->counters().builds_in_background, 1U);
}

}  // namespace
}  // namespace attune
