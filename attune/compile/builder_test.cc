#include "attune/compile/builder.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/counting_solver.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

BuildRequest Request(const Solver& solver, int64_t tile) {
  return {&solver, PackedGemm(8, 8, 8), Config{{"tile", tile}}};
}

// Opens once `expected` threads stand in front of it, which proves that they run at the same time.
class Gate {
 public:
  explicit Gate(int expected) : missing_(expected) {}
  Status Pass() {
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) open_.notify_all();
    const bool opened =
        open_.wait_for(lock, std::chrono::seconds(60), [&] { return missing_ <= 0; });
    return opened ? Status::Ok() : DeadlineExceeded("The others did not come.");
  }

 private:
  std::mutex mutex_;
  std::condition_variable open_;
  int missing_;
};

TEST(BuilderTest, SecondBuilderOnTheSameCacheCompilesNothing) {
  CountingSolver solver;
  MemoryKernelCache cache;
  const BuildOutcome first = Builder(cache).Build(Request(solver, 4), Target{});

  const BuildOutcome second = Builder(cache).Build(Request(solver, 4), Target{});

  EXPECT_EQ(solver.builds, 1);
  EXPECT_EQ(cache.counters().misses, 1);
  EXPECT_EQ(cache.counters().hits, 1);
  EXPECT_FALSE(first.from_cache);
  EXPECT_GT(first.build_ns, 0);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.build_ns, 0);
  ASSERT_NE(second.artifact(), nullptr);
  EXPECT_EQ(second.artifact()->bytes, "compiled tile=4");
}

TEST(BuilderTest, WhatFitsNoDeviceDoesNotApplyAndIsNotCompiledAgain) {
  CountingSolver solver;
  MemoryKernelCache cache;
  Builder builder(cache);
  const BuildRequest large{&solver, PackedGemm(8, 8, 8), Config{{"large", int64_t{1}}}};

  const BuildOutcome first = builder.Build(large, Target{});
  const BuildOutcome second = builder.Build(large, Target{});

  for (const BuildOutcome& outcome : {first, second}) {
    ASSERT_NE(outcome.failure(), nullptr);
    EXPECT_EQ(outcome.failure()->kind, FailureKind::kNotApplicable);
    EXPECT_EQ(outcome.failure()->message, "No room for compiled large=1.");
  }
  EXPECT_EQ(solver.builds, 1);
}

TEST(BuilderTest, CodeWithoutAKernelOfItsLaunchesFailedToBuild) {
  CountingSolver solver;
  MemoryKernelCache cache;
  const BuildRequest request{&solver, PackedGemm(8, 8, 8), Config{{"misnamed", int64_t{1}}}};

  const BuildOutcome outcome = Builder(cache).Build(request, Target{});

  ASSERT_NE(outcome.failure(), nullptr);
  EXPECT_EQ(outcome.failure()->kind, FailureKind::kBuildFailed);
  EXPECT_EQ(outcome.failure()->message, "There is no such kernel.");
}

TEST(BuilderTest, HowManyBlocksHaveRoomIsAskedBehindTheCacheToo) {
  CountingSolver solver;
  MemoryKernelCache cache;
  Builder builder(cache);
  const BuildRequest known{&solver, PackedGemm(8, 8, 8), Config{{"blocks", int64_t{3}}}};

  const BuildOutcome built = builder.Build(known, Target{});
  const BuildOutcome kept = builder.Build(known, Target{});
  const BuildOutcome unknown = builder.Build(Request(solver, 4), Target{});

  EXPECT_EQ(built.blocks_per_multiprocessor, 3);
  EXPECT_TRUE(kept.from_cache);
  EXPECT_EQ(kept.blocks_per_multiprocessor, 3);
  EXPECT_EQ(unknown.blocks_per_multiprocessor, std::nullopt);
}

// Builds each request in a thread of its own.
std::vector<BuildOutcome> BuildAtOnce(Builder& builder, const std::vector<BuildRequest>& requests) {
  std::vector<BuildOutcome> outcomes(requests.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] { outcomes[i] = builder.Build(requests[i], Target{}); });
    }
  }
  return outcomes;
}

TEST(BuilderTest, ThreadsCompileAtTheSameTime) {
  CountingSolver solver;
  Gate gate(3);
  solver.on_build = [&](const BuildRecipe&) { return gate.Pass(); };
  MemoryKernelCache cache;
  Builder builder(cache);

  const auto outcomes =
      BuildAtOnce(builder, {Request(solver, 1), Request(solver, 2), Request(solver, 3)});

  for (const BuildOutcome& outcome : outcomes) EXPECT_NE(outcome.artifact(), nullptr);
}

TEST(BuilderTest, OneRecipeAskedForByManyThreadsIsCompiledOnce) {
  CountingSolver solver;
  MemoryKernelCache cache;
  Builder builder(cache);

  const auto outcomes = BuildAtOnce(builder, std::vector<BuildRequest>(32, Request(solver, 7)));

  EXPECT_EQ(solver.builds, 1);
  int compiled = 0;
  for (const BuildOutcome& outcome : outcomes) {
    ASSERT_NE(outcome.artifact(), nullptr);
    EXPECT_EQ(outcome.artifact()->bytes, "compiled tile=7");
    compiled += outcome.from_cache ? 0 : 1;
  }
  EXPECT_EQ(compiled, 1);
}

TEST(BuilderTest, FailureCarriesTheCompilersLogAndIsNotTriedAgain) {
  CountingSolver solver;
  solver.on_build = [](const BuildRecipe&) {
    return InvalidArgument("line 3: no such type 'flaot'");
  };
  MemoryKernelCache cache;
  Builder builder(cache);
  const BuildOutcome first = builder.Build(Request(solver, 1), Target{});

  const BuildOutcome second = builder.Build(Request(solver, 1), Target{});

  EXPECT_EQ(solver.builds, 1);
  ASSERT_NE(second.failure(), nullptr);
  EXPECT_EQ(second.failure()->kind, FailureKind::kBuildFailed);
  EXPECT_EQ(second.failure()->phase, Phase::kBuild);
  EXPECT_THAT(second.failure()->message, HasSubstr("flaot"));
  EXPECT_EQ(*first.failure(), *second.failure());
  EXPECT_FALSE(second.from_cache);
}

TEST(BuilderTest, ReportsWarningsOnceAndDoesNotCacheThem) {
  CountingSolver solver;
  solver.log = "line 3: unused variable 'x'";
  MemoryKernelCache cache;
  std::string told;
  Builder builder(cache, {.on_warnings = [&](std::string_view log) { told += log; }});

  const BuildOutcome first = builder.Build(Request(solver, 4), Target{});
  const BuildOutcome second = builder.Build(Request(solver, 4), Target{});

  EXPECT_EQ(told, "test.counting@1 -O2:\nline 3: unused variable 'x'\n");
  ASSERT_NE(first.artifact(), nullptr);
  EXPECT_EQ(first.artifact()->log, "");
  EXPECT_EQ(second.artifact()->log, "");
}

TEST(BuilderTest, CodeWithoutWarningsServesBuildersThatWarn) {
  CountingSolver solver;
  solver.log = "line 3: unused variable 'x'";
  MemoryKernelCache cache;
  int heard = 0;
  const auto hear = [&](std::string_view) { ++heard; };

  (void)Builder(cache, {.warns = false, .on_warnings = hear}).Build(Request(solver, 4), Target{});
  (void)Builder(cache, {.on_warnings = hear}).Build(Request(solver, 4), Target{});

  EXPECT_EQ(heard, 0);
  EXPECT_EQ(solver.builds, 1);
}

TEST(BuilderTest, LongLogKeepsItsHeadAndItsTail) {
  CountingSolver solver;
  solver.on_build = [](const BuildRecipe&) {
    return Internal("HEAD" + std::string(1 << 20, 'x') + "TAIL");
  };
  MemoryKernelCache cache;

  const BuildOutcome outcome = Builder(cache).Build(Request(solver, 1), Target{});

  ASSERT_NE(outcome.failure(), nullptr);
  const std::string& log = outcome.failure()->message;
  EXPECT_LT(log.size(), Builder::kMaxLogBytes + 100);
  EXPECT_TRUE(log.starts_with("HEAD"));
  EXPECT_TRUE(log.ends_with("TAIL"));
}

TEST(BuilderTest, CompilerThatRanOutOfMemoryIsToldApart) {
  CountingSolver solver;
  solver.on_build = [](const BuildRecipe&) { return ResourceExhausted("No memory."); };
  MemoryKernelCache cache;

  const BuildOutcome outcome = Builder(cache).Build(Request(solver, 1), Target{});

  ASSERT_NE(outcome.failure(), nullptr);
  EXPECT_EQ(outcome.failure()->kind, FailureKind::kOutOfMemory);
}

TEST(BuilderTest, LibraryCallIsNeitherCompiledNorCached) {
  CountingSolver solver;
  MemoryKernelCache cache;
  const BuildRequest request{&solver, PackedGemm(8, 8, 8), Config{{"library", int64_t{1}}}};

  const BuildOutcome outcome = Builder(cache).Build(request, Target{});

  ASSERT_NE(outcome.artifact(), nullptr);
  EXPECT_TRUE(outcome.artifact()->bytes.empty());
  EXPECT_TRUE(outcome.from_cache);
  EXPECT_EQ(solver.builds, 0);
  EXPECT_EQ(cache.counters(), KernelCacheCounters{});
}

TEST(BuilderTest, ConfigThatHasNoRecipeIsNotApplicable) {
  CountingSolver solver;
  MemoryKernelCache cache;
  const BuildRequest request{&solver, PackedGemm(8, 8, 8), Config{{"refused", int64_t{1}}}};

  const BuildOutcome outcome = Builder(cache).Build(request, Target{});

  ASSERT_NE(outcome.failure(), nullptr);
  EXPECT_EQ(outcome.failure()->kind, FailureKind::kNotApplicable);
}

// A cache on a full disk.
class FullCache final : public KernelCache {
 public:
  BuildTurn AwaitTurn(const BuildRecipe&) override { return {}; }
  std::optional<Artifact> Find(const BuildRecipe&) override { return std::nullopt; }
  Status Store(const BuildRecipe&, const Artifact&) override {
    return ResourceExhausted("No space left on device.");
  }
  KernelCacheCounters counters() const override { return {}; }
};

TEST(BuilderTest, FullDiskCostsTheCacheEntryAndNotTheBuild) {
  CountingSolver solver;
  FullCache cache;

  const BuildOutcome outcome = Builder(cache).Build(Request(solver, 1), Target{});

  EXPECT_NE(outcome.artifact(), nullptr);
  EXPECT_EQ(outcome.cache_status.code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace attune
