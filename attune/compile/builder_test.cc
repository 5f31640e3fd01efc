#include "attune/compile/builder.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/counting_solver.h"

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
  const BuildOutcome first = Builder(cache, 1).Build(Request(solver, 4), Target{});

  const BuildOutcome second = Builder(cache, 1).Build(Request(solver, 4), Target{});

  EXPECT_EQ(solver.builds, 1);
  EXPECT_FALSE(first.from_cache);
  EXPECT_GT(first.build_ns, 0);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.build_ns, 0);
  ASSERT_NE(second.artifact(), nullptr);
  EXPECT_EQ(second.artifact()->bytes, "compiled tile=4");
}

TEST(BuilderTest, OutcomesStandInTheOrderOfTheRequests) {
  CountingSolver solver;
  MemoryKernelCache cache;
  Builder builder(cache, 3);
  std::vector<BuildRequest> requests;
  for (int64_t tile = 0; tile < 50; ++tile) requests.push_back(Request(solver, tile));

  const auto outcomes = builder.BuildAll(requests, Target{});

  ASSERT_EQ(outcomes.size(), 50u);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ASSERT_TRUE(outcomes[i].has_value());
    ASSERT_NE(outcomes[i]->artifact(), nullptr);
    EXPECT_EQ(outcomes[i]->artifact()->bytes, "compiled tile=" + std::to_string(i));
  }
}

TEST(BuilderTest, WorkersCompileAtTheSameTime) {
  CountingSolver solver;
  Gate gate(3);
  solver.on_build = [&](const BuildRecipe&) { return gate.Pass(); };
  MemoryKernelCache cache;
  Builder builder(cache, 3);
  const std::vector<BuildRequest> requests = {Request(solver, 1), Request(solver, 2),
                                              Request(solver, 3)};

  const auto outcomes = builder.BuildAll(requests, Target{});

  for (const auto& outcome : outcomes) EXPECT_NE(outcome->artifact(), nullptr);
}

TEST(BuilderTest, OneRecipeAskedForByManyThreadsIsCompiledOnce) {
  CountingSolver solver;
  MemoryKernelCache cache;
  Builder builder(cache, 4);
  const std::vector<BuildRequest> requests(64, Request(solver, 7));

  const auto outcomes = builder.BuildAll(requests, Target{});

  EXPECT_EQ(solver.builds, 1);
  int compiled = 0;
  for (const auto& outcome : outcomes) {
    ASSERT_NE(outcome->artifact(), nullptr);
    EXPECT_EQ(outcome->artifact()->bytes, "compiled tile=7");
    compiled += outcome->from_cache ? 0 : 1;
  }
  EXPECT_EQ(compiled, 1);
}

TEST(BuilderTest, FailureCarriesTheCompilersLogAndIsNotTriedAgain) {
  CountingSolver solver;
  solver.on_build = [](const BuildRecipe&) {
    return InvalidArgument("line 3: no such type 'flaot'");
  };
  MemoryKernelCache cache;
  Builder builder(cache, 1);
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

TEST(BuilderTest, LongLogKeepsItsHeadAndItsTail) {
  CountingSolver solver;
  solver.on_build = [](const BuildRecipe&) {
    return Internal("HEAD" + std::string(1 << 20, 'x') + "TAIL");
  };
  MemoryKernelCache cache;

  const BuildOutcome outcome = Builder(cache, 1).Build(Request(solver, 1), Target{});

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

  const BuildOutcome outcome = Builder(cache, 1).Build(Request(solver, 1), Target{});

  ASSERT_NE(outcome.failure(), nullptr);
  EXPECT_EQ(outcome.failure()->kind, FailureKind::kOutOfMemory);
}

TEST(BuilderTest, LibraryCallIsNeitherCompiledNorCached) {
  CountingSolver solver;
  MemoryKernelCache cache;
  const BuildRequest request{&solver, PackedGemm(8, 8, 8), Config{{"library", int64_t{1}}}};

  const BuildOutcome outcome = Builder(cache, 1).Build(request, Target{});

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

  const BuildOutcome outcome = Builder(cache, 1).Build(request, Target{});

  ASSERT_NE(outcome.failure(), nullptr);
  EXPECT_EQ(outcome.failure()->kind, FailureKind::kNotApplicable);
}

TEST(BuilderTest, CancelledRunLeavesWhatWasNotBegunEmpty) {
  CountingSolver solver;
  std::stop_source stop;
  solver.on_build = [&](const BuildRecipe&) {
    if (solver.builds == 2) stop.request_stop();
    return Status::Ok();
  };
  MemoryKernelCache cache;
  Builder builder(cache, 1);
  std::vector<BuildRequest> requests;
  for (int64_t tile = 0; tile < 5; ++tile) requests.push_back(Request(solver, tile));

  const auto outcomes = builder.BuildAll(requests, Target{}, stop.get_token());

  EXPECT_EQ(solver.builds, 2);
  EXPECT_TRUE(outcomes[1].has_value());
  EXPECT_FALSE(outcomes[2].has_value());
  EXPECT_FALSE(outcomes[4].has_value());
}

// A cache whose disk is full.
class FullCache final : public KernelCache {
 public:
  std::optional<Artifact> Find(const BuildRecipe&) override { return std::nullopt; }
  Status Store(const BuildRecipe&, const Artifact&) override {
    return ResourceExhausted("No space left on device.");
  }
  KernelCacheCounters counters() const override { return {}; }
};

TEST(BuilderTest, FullDiskCostsTheCacheEntryAndNotTheBuild) {
  CountingSolver solver;
  FullCache cache;

  const BuildOutcome outcome = Builder(cache, 1).Build(Request(solver, 1), Target{});

  EXPECT_NE(outcome.artifact(), nullptr);
  EXPECT_EQ(outcome.cache_status.code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace attune
