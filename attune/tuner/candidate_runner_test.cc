#include "attune/tuner/candidate_runner.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/compile/kernel_cache.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/verify/heap_device.h"

namespace attune {
namespace {

using testing::ElementsAre;

// A device that records its requests, and fails on demand.
class WatchedDevice final : public RepeatingDevice {
  class Block final : public TimedBlock {
   public:
    explicit Block(std::vector<std::string>& steps) : steps_(steps) {}
    Result<double> TimeNs() override {
      steps_.emplace_back("replay");
      return 1e3;
    }

   private:
    std::vector<std::string>& steps_;
  };

 public:
  const Target& target() const override { return memory_.target(); }
  Result<std::unique_ptr<Buffer>> Allocate(size_t size_bytes) override {
    return memory_.Allocate(size_bytes);
  }
  Status Upload(std::span<const std::byte> from, BufferView to) override {
    return memory_.Upload(from, to);
  }
  Status Download(BufferView from, std::span<std::byte> to) override {
    return memory_.Download(from, to);
  }
  Status Synchronize() override { return Status::Ok(); }
  Result<double> TimeNs(Executable&, const Arguments&, const TimingRequest&) override {
    steps_.emplace_back("time");
    if (times_refused_ > 0 && times_refused_-- > 0) return Internal("The clock stands still.");
    return launch_ns_;
  }
  Result<std::unique_ptr<TimedBlock>> MakeBlock(Executable&, const Arguments&,
                                                const TimingRequest&) override {
    if (!makes_blocks_.has_value()) return std::unique_ptr<TimedBlock>();
    steps_.emplace_back("make");
    if (!*makes_blocks_) return std::unique_ptr<TimedBlock>();
    return std::unique_ptr<TimedBlock>(std::make_unique<Block>(steps_));
  }
  Status TryCapture(Executable&, const Arguments&) override { return capture_failure_; }
  Status AwaitQuiescence(int64_t limit_ns) override {
    steps_.emplace_back("asleep");
    EXPECT_GT(limit_ns, 0);
    if (is_restless_) return DeadlineExceeded("Thread 7 of libspin does not fall asleep.");
    return Status::Ok();
  }

  // Steps since the last call.
  std::vector<std::string> TakeSteps() { return std::exchange(steps_, {}); }
  std::vector<std::string>& steps() { return steps_; }
  void set_restless(bool is_restless) { is_restless_ = is_restless; }
  void RefuseTimes(int count) { times_refused_ = count; }
  void set_launch_ns(double launch_ns) { launch_ns_ = launch_ns; }
  // Enables or disables prepared blocks.
  void MakeBlocks(bool can) { makes_blocks_ = can; }
  void RefuseCaptures(Status failure) { capture_failure_ = std::move(failure); }

 private:
  HeapDevice memory_;
  std::vector<std::string> steps_;
  bool is_restless_ = false;
  int times_refused_ = 0;
  double launch_ns_ = 1e3;
  std::optional<bool> makes_blocks_;  // Nothing: it cannot, and it is no step.
  Status capture_failure_;
};

// Computes the matrix product element by element. Every launch is a step of the device.
class OneByOneSolver final : public Solver {
 public:
  explicit OneByOneSolver(std::vector<std::string>& steps) : steps_(steps) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    return ConfigSpace::Create({}, {});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config& config,
                                           Device&) const override {
    steps_.emplace_back("load");
    if (config.contains("broken")) return Internal("It is broken.");
    return std::make_unique<FunctionExecutable>([this](const Arguments& arguments) {
      steps_.emplace_back("run");
      const auto element = [&](size_t i) {
        return static_cast<float*>(arguments.operands[i].handle);
      };
      *element(2) = *element(0) * *element(1);
      return Status::Ok();
    });
  }

 private:
  const SolverId id_{"test.one-by-one", 1};
  const SolverTraits traits_;
  std::vector<std::string>& steps_;
};

class CandidateRunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    solvers_.push_back(std::make_unique<OneByOneSolver>(device_.steps()));
    auto data = ProblemData::Create(problem_, 1);
    ASSERT_TRUE(data.ok()) << data.status().message();
    data_.emplace(*std::move(data));
    Start({});
  }

  void Start(const EvaluationTerms& terms) {
    RunnerParts parts;
    parts.terms = terms;
    parts.solvers = &solvers_;
    parts.device = &device_;
    parts.problem = &problem_;
    parts.data = &*data_;
    parts.builder = &builder_;
    auto runner = CandidateRunner::Create(parts);
    ASSERT_TRUE(runner.ok()) << runner.status().message();
    runner_.emplace(*std::move(runner));
    device_.TakeSteps();
  }

  const Problem problem_ = Normalized(PackedGemm(1, 1, 1));
  const Candidate candidate_{{"test.one-by-one", 1}, {}};
  const Candidate other_{{"test.one-by-one", 1}, {{"other", int64_t{1}}}};
  const Candidate broken_{{"test.one-by-one", 1}, {{"broken", int64_t{1}}}};
  WatchedDevice device_;
  SolverList solvers_;
  MemoryKernelCache kernels_;
  Builder builder_{kernels_};
  std::optional<ProblemData> data_;
  std::optional<CandidateRunner> runner_;
};

TEST_F(CandidateRunnerTest, WhoCannotBeCapturedQualifiesAndSaysWhyNot) {
  const auto captured = runner_->Qualify(candidate_);
  device_.RefuseCaptures(Internal("It allocates."));
  const auto uncaptured = runner_->Qualify(candidate_);

  ASSERT_TRUE(captured.has_value() && uncaptured.has_value());
  EXPECT_EQ(captured->capture_failure, "");
  EXPECT_EQ(uncaptured->capture_failure, "It allocates.");
}

TEST_F(CandidateRunnerTest, ACandidateFarSlowerThanTheBestIsTimedOnce) {
  const auto times = [&](double launch_ns) {
    device_.set_launch_ns(launch_ns);
    device_.TakeSteps();
    EXPECT_TRUE(runner_->Qualify(candidate_).has_value());
    const std::vector<std::string> steps = device_.TakeSteps();
    return std::count(steps.begin(), steps.end(), "time");
  };

  EXPECT_EQ(times(2e6), 3);
  EXPECT_EQ(times(5e6), 3);
  EXPECT_EQ(times(7e6), 1);
  EXPECT_EQ(times(1e3), 3);
  EXPECT_EQ(times(4e5), 3) << "Threads that wake up may explain it.";
  EXPECT_EQ(times(6e5), 1);
}

TEST_F(CandidateRunnerTest, EveryTimedBlockFindsTheOtherThreadsAsleep) {
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("load", "asleep"));
  ASSERT_TRUE(runner_->Load(other_).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("load", "asleep"));

  ASSERT_TRUE(runner_->Time(0, {}).has_value());
  ASSERT_TRUE(runner_->Time(1, {}).has_value());
  ASSERT_TRUE(runner_->Time(0, {.launches = 3, .cache = CacheState::kCold}).has_value());

  EXPECT_THAT(device_.TakeSteps(),
              ElementsAre("run", "time", "asleep", "run", "time", "asleep", "time", "asleep"));
}

TEST_F(CandidateRunnerTest, AfterABlockThatFailedTheNextOneWaits) {
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  ASSERT_TRUE(runner_->Load(other_).has_value());
  device_.RefuseTimes(1);
  ASSERT_FALSE(runner_->Time(0, {}).has_value());
  device_.TakeSteps();

  ASSERT_TRUE(runner_->Time(1, {}).has_value());

  EXPECT_THAT(device_.TakeSteps(), ElementsAre("asleep", "run", "time", "asleep"));
}

TEST_F(CandidateRunnerTest, AfterALoadThatFailedTheNextBlockWaits) {
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  ASSERT_FALSE(runner_->Load(broken_).has_value());
  device_.TakeSteps();

  ASSERT_TRUE(runner_->Time(0, {}).has_value());

  EXPECT_THAT(device_.TakeSteps(), ElementsAre("asleep", "run", "time", "asleep"));
}

TEST_F(CandidateRunnerTest, WhoDoesNotFallAsleepAfterItWasLoadedIsNotLoaded) {
  device_.set_restless(true);

  const auto loaded = runner_->Load(candidate_);

  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().failure, (Failure{FailureKind::kLoadFailed, Phase::kLoad,
                                             "Thread 7 of libspin does not fall asleep."}));
  device_.set_restless(false);
  EXPECT_EQ(runner_->Load(other_), 0u);
}

TEST_F(CandidateRunnerTest, WhoDoesNotFallAsleepAfterItsBlockIsToBlame) {
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  device_.set_restless(true);

  const auto time_ns = runner_->Time(0, {});

  ASSERT_FALSE(time_ns.has_value());
  EXPECT_EQ(time_ns.error(), (Failure{FailureKind::kRunFailed, Phase::kMeasure,
                                      "Thread 7 of libspin does not fall asleep."}));
}

TEST_F(CandidateRunnerTest, WhatIsTimedAgainIsMadeReadyOnce) {
  device_.MakeBlocks(true);
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  device_.TakeSteps();
  const TimingRequest five = {.launches = 5};

  ASSERT_TRUE(runner_->Time(0, five).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "make", "replay", "asleep"));
  ASSERT_TRUE(runner_->Time(0, five).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "replay", "asleep"));

  // Other launches, or other caches, are another block.
  ASSERT_TRUE(runner_->Time(0, {.launches = 6}).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "make", "replay", "asleep"));
  ASSERT_TRUE(runner_->Time(0, {.launches = 6, .cache = CacheState::kCold}).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("make", "replay", "asleep"));
}

TEST_F(CandidateRunnerTest, WhoIsLoadedLaterMayMoveTheWorkspaceSoThatNothingStaysReady) {
  device_.MakeBlocks(true);
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  ASSERT_TRUE(runner_->Time(0, {}).has_value());
  ASSERT_TRUE(runner_->Load(other_).has_value());
  device_.TakeSteps();

  ASSERT_TRUE(runner_->Time(0, {}).has_value());

  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "make", "replay", "asleep"));
}

TEST_F(CandidateRunnerTest, WhatCannotBeMadeReadyIsTimedAsEverAndTriedOnce) {
  device_.MakeBlocks(false);
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  device_.TakeSteps();

  ASSERT_TRUE(runner_->Time(0, {}).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "make", "time", "asleep"));
  ASSERT_TRUE(runner_->Time(0, {}).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "time", "asleep"));
}

TEST_F(CandidateRunnerTest, WhatIsReadyIsBounded) {
  device_.MakeBlocks(true);
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  ASSERT_TRUE(runner_->Load(other_).has_value());
  constexpr int kMost = 65'536;
  ASSERT_TRUE(runner_->Time(0, {.launches = kMost}).has_value());
  device_.TakeSteps();

  ASSERT_TRUE(runner_->Time(1, {.launches = 1}).has_value());
  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "time", "asleep"));

  // There is room again behind the one that took it all.
  ASSERT_TRUE(runner_->Time(0, {.launches = kMost - 1}).has_value());
  ASSERT_TRUE(runner_->Time(1, {.launches = 1}).has_value());
  EXPECT_THAT(device_.TakeSteps(),
              ElementsAre("run", "make", "replay", "asleep", "run", "make", "replay", "asleep"));
}

TEST_F(CandidateRunnerTest, WhoStepsThroughCopiesIsNeverMadeReady) {
  EvaluationTerms terms;
  terms.rotation_bytes = 4096;
  Start(terms);
  device_.MakeBlocks(true);
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  device_.TakeSteps();

  ASSERT_TRUE(runner_->Time(0, {.cache = CacheState::kRotating}).has_value());

  EXPECT_THAT(device_.TakeSteps(), ElementsAre("run", "time", "asleep"));
}

TEST_F(CandidateRunnerTest, WhatTheDeviceWorkedIsCountedWithTheLaunchesThatNobodyTimed) {
  constexpr int64_t kLaunchNs = 1000;  // The time that the device reports for each launch.
  ASSERT_TRUE(runner_->Qualify(candidate_).has_value());
  // One verified, and blocks of at least one launch.
  EXPECT_GE(runner_->TakeDeviceNs(), 4 * kLaunchNs);
  EXPECT_EQ(runner_->TakeDeviceNs(), 0);
  ASSERT_TRUE(runner_->Load(candidate_).has_value());

  ASSERT_TRUE(runner_->Time(0, {.launches = 5}).has_value());
  ASSERT_TRUE(runner_->Time(0, {.launches = 3, .cache = CacheState::kCold}).has_value());

  // The first block was warmed up, and a cold one never is.
  EXPECT_EQ(runner_->TakeDeviceNs(), (1 + 5 + 3) * kLaunchNs);
}

TEST_F(CandidateRunnerTest, ABlockThatFailedIsNoWorkOfTheDevice) {
  ASSERT_TRUE(runner_->Load(candidate_).has_value());
  device_.RefuseTimes(1);

  ASSERT_FALSE(runner_->Time(0, {.launches = 5}).has_value());

  EXPECT_EQ(runner_->TakeDeviceNs(), 0);
}

TEST_F(CandidateRunnerTest, WhomItsOutputWasComparedWithSleepsBeforeItIsTimedBriefly) {
  const auto qualified = runner_->Qualify(other_, Agreement{candidate_, {1e-6, 1e-6}});

  ASSERT_TRUE(qualified.has_value()) << qualified.error().failure.message;
  const std::vector<std::string> steps = device_.TakeSteps();
  const auto first_time = std::find(steps.begin(), steps.end(), "time");
  ASSERT_NE(first_time, steps.begin());
  EXPECT_EQ(*std::prev(first_time), "asleep") << testing::PrintToString(steps);
}

}  // namespace
}  // namespace attune
