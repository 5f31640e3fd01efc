// State that a solver exports from a load, kept for the next process.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/builder.h"
#include "attune/compile/kernel_cache.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/solver/state_keeper.h"

namespace attune {
namespace {

using ::testing::ElementsAre;

class NullExecutable final : public Executable {
 public:
  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments&) override { return Status::Ok(); }
};

// It has a target and nothing else.
class TargetDevice final : public Device {
 public:
  explicit TargetDevice(std::string name) { target_.device = std::move(name); }

  const Target& target() const override { return target_; }
  Result<std::unique_ptr<Buffer>> Allocate(size_t) override { return Unsupported("No memory."); }
  Status Upload(std::span<const std::byte>, BufferView) override { return Status::Ok(); }
  Status Download(BufferView, std::span<std::byte>) override { return Status::Ok(); }
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable&, const Arguments&, const TimingRequest&) override {
    return Unsupported("No clock.");
  }
  Status AwaitQuiescence(int64_t) override { return Status::Ok(); }

 private:
  Target target_;
};

// Its states are numbered; `accepted` is the one that it still takes.
class StatefulSolver final : public Solver, public StateKeeper {
 public:
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override { return ConfigSpace(); }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    ++plain_loads;
    return std::unique_ptr<Executable>(std::make_unique<NullExecutable>());
  }

  BuildRecipe StateKey(const Problem& problem, const Config& config,
                       const Target& target) const override {
    if (config.contains("stateless")) return {};
    return {Text(problem), Text(config), library, Text(target)};
  }
  Result<LoadedWithState> LoadWith(std::string_view state, const BuiltCandidate&,
                                   Device&) const override {
    offered.emplace_back(state);
    if (!failure.ok()) return failure;
    LoadedWithState loaded;
    loaded.executable = std::make_unique<NullExecutable>();
    loaded.is_out_of_state = !state.empty() && state == accepted;
    if (!loaded.is_out_of_state) loaded.state = accepted;
    return loaded;
  }

  std::string library = "library 1";
  std::string accepted = "state 1";
  Status failure;
  mutable int plain_loads = 0;
  mutable std::vector<std::string> offered;

 private:
  SolverId id_{"test.stateful", 1};
  SolverTraits traits_;
};

class KeptStateTest : public ::testing::Test {
 protected:
  BuildRequest RequestOf(int64_t n, Config config = {{"engine", int64_t{45}}}) const {
    return {&solver_, PackedGemm(8, n, 8), std::move(config)};
  }
  // As another process would.
  Result<LoadedCandidate> Load(const BuildRequest& request) {
    return Builder(cache_).Load(request, Artifact(), device_);
  }

  StatefulSolver solver_;
  MemoryKernelCache cache_;
  TargetDevice device_{"NVIDIA H200"};
};

TEST_F(KeptStateTest, TheNextProcessLoadsOutOfIt) {
  const auto first = Load(RequestOf(8));
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->is_out_of_state);

  const auto second = Load(RequestOf(8));

  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->is_out_of_state);
  EXPECT_NE(second->executable, nullptr);
  EXPECT_THAT(solver_.offered, ElementsAre("", "state 1"));
  EXPECT_EQ(cache_.counters().stores, 1);
  EXPECT_EQ(solver_.plain_loads, 0);
}

TEST_F(KeptStateTest, OneThatIsRefusedIsMadeAnewAndReplaced) {
  ASSERT_TRUE(Load(RequestOf(8)).ok());
  solver_.accepted = "state 2";

  const auto refused = Load(RequestOf(8));
  const auto after = Load(RequestOf(8));

  ASSERT_TRUE(refused.ok());
  EXPECT_FALSE(refused->is_out_of_state);
  ASSERT_TRUE(after.ok());
  EXPECT_TRUE(after->is_out_of_state);
  EXPECT_THAT(solver_.offered, ElementsAre("", "state 1", "state 2"));
}

TEST_F(KeptStateTest, NoneIsFoundOfAnotherProblemCandidateLibraryOrDevice) {
  ASSERT_TRUE(Load(RequestOf(8)).ok());

  ASSERT_TRUE(Load(RequestOf(9)).ok());
  ASSERT_TRUE(Load(RequestOf(8, {{"engine", int64_t{46}}})).ok());
  TargetDevice other("NVIDIA A100");
  ASSERT_TRUE(Builder(cache_).Load(RequestOf(8), Artifact(), other).ok());
  solver_.library = "library 2";
  ASSERT_TRUE(Load(RequestOf(8)).ok());

  EXPECT_THAT(solver_.offered, ElementsAre("", "", "", "", ""));
}

TEST_F(KeptStateTest, ACandidateWithoutStatesIsLoadedAsItAlwaysWas) {
  const auto loaded = Load(RequestOf(8, {{"stateless", int64_t{1}}}));

  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(solver_.plain_loads, 1);
  EXPECT_EQ(cache_.counters(), KernelCacheCounters());
}

TEST_F(KeptStateTest, ALoadThatFailsLeavesNothing) {
  solver_.failure = Unsupported("This engine does not compute it.");

  const auto loaded = Load(RequestOf(8));

  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().message(), "This engine does not compute it.");
  EXPECT_EQ(cache_.counters().stores, 0);
}

TEST_F(KeptStateTest, ACacheThatTakesNothingCostsTheNextProcessOnly) {
  class FullCache final : public KernelCache {
   public:
    std::optional<Artifact> Find(const BuildRecipe&) override { return std::nullopt; }
    Status Store(const BuildRecipe&, const Artifact&) override {
      return ResourceExhausted("The disk is full.");
    }
    BuildTurn AwaitTurn(const BuildRecipe&) override { return {}; }
    KernelCacheCounters counters() const override { return {}; }
  };
  FullCache full;

  const auto loaded = Builder(full).Load(RequestOf(8), Artifact(), device_);

  ASSERT_TRUE(loaded.ok());
  EXPECT_NE(loaded->executable, nullptr);
  EXPECT_EQ(loaded->cache_status.message(), "The disk is full.");
}

}  // namespace
}  // namespace attune
