#include "backends/fake/fake_backend.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/verifier.h"
#include "backends/fake/fake_device.h"
#include "backends/fake/gemm/fake_gemm.h"

namespace attune {
namespace {

// A product with padding in C, one of the fake solvers loaded for it, and its operands.
class FakeBackendTest : public testing::Test {
 protected:
  void Use(const std::string& script) {
    backend_ = MakeFakeBackend(*FakeScript::Parse(script));
    device_ = std::move(*backend_->Open("fake"));
    Gemm gemm = PackedGemm(13, 7, 9);
    gemm.ldc = 16;
    problem_ = Normalized(gemm);
    data_ = std::make_unique<ProblemData>(*ProblemData::Create(problem_, 5));
    operands_ = std::make_unique<BoundOperands>(*BoundOperands::Create(*device_, problem_, *data_));
    const Solver& solver = *backend_->solvers().front();
    auto executable = solver.Load({}, problem_, Config{{"threads", int64_t{1}}}, *device_);
    if (executable.ok()) executable_ = std::move(*executable);
  }

  std::optional<FailureKind> VerifiedAs(const std::string& script) {
    Use(script);
    const Verdict verdict = Verify(*executable_, *device_, *operands_, *data_, problem_);
    if (!verdict.failure.has_value()) return std::nullopt;
    return verdict.failure->kind;
  }

  // The wait status of a forked process that launches once.
  int LaunchInChild() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::ualarm(300'000, 0);  // Ends a hang.
      (void)executable_->Run(operands_->arguments());
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Device> device_;
  Problem problem_;
  std::unique_ptr<ProblemData> data_;
  std::unique_ptr<BoundOperands> operands_;
  std::unique_ptr<Executable> executable_;
};

TEST_F(FakeBackendTest, WithoutAFaultTheResultIsRight) { EXPECT_EQ(VerifiedAs(""), std::nullopt); }

TEST_F(FakeBackendTest, EveryWrongDoingIsFoundByVerification) {
  EXPECT_EQ(VerifiedAs("* fault=wrong_result"), FailureKind::kWrongResult);
  EXPECT_EQ(VerifiedAs("* fault=nan"), FailureKind::kWrongResult);
  EXPECT_EQ(VerifiedAs("* fault=write_past_end"), FailureKind::kOutOfBounds);
  EXPECT_EQ(VerifiedAs("* fault=write_before_start"), FailureKind::kOutOfBounds);
  EXPECT_EQ(VerifiedAs("* fault=overwrite_input"), FailureKind::kOutOfBounds);
  EXPECT_EQ(VerifiedAs("* fault=overwrite_gap"), FailureKind::kOutOfBounds);
  EXPECT_EQ(VerifiedAs("* fault=launch_fails"), FailureKind::kRunFailed);
  EXPECT_EQ(VerifiedAs("* fault=memory_hog hog_limit_mib=16"), FailureKind::kOutOfMemory);
}

TEST_F(FakeBackendTest, WhatCannotBeCapturedIsRightAndSaysWhy) {
  EXPECT_EQ(VerifiedAs("* fault=capture_fails"), std::nullopt);
  EXPECT_EQ(device_->TryCapture(*executable_, operands_->arguments()).code(),
            StatusCode::kFailedPrecondition);

  Use("");
  EXPECT_EQ(device_->TryCapture(*executable_, operands_->arguments()), Status::Ok());
}

TEST_F(FakeBackendTest, FaultShowsOnlyFromItsLaunchOn) {
  EXPECT_EQ(VerifiedAs("* fault=wrong_result at_launch=2"), std::nullopt);
  EXPECT_EQ(Verify(*executable_, *device_, *operands_, *data_, problem_).failure->kind,
            FailureKind::kWrongResult);
}

TEST_F(FakeBackendTest, ProcessFaultsReallyEndTheProcess) {
  Use("* fault=crash");
  EXPECT_EQ(WTERMSIG(LaunchInChild()), SIGSEGV);
  Use("* fault=abort");
  EXPECT_EQ(WTERMSIG(LaunchInChild()), SIGABRT);
  Use("* fault=exit");
  EXPECT_EQ(WEXITSTATUS(LaunchInChild()), 3);
}

TEST_F(FakeBackendTest, HangNeedsToBeEndedFromOutside) {
  Use("* fault=hang");

  EXPECT_EQ(WTERMSIG(LaunchInChild()), SIGALRM);
}

TEST_F(FakeBackendTest, BuildAndLoadFailuresAreReturned) {
  Use("fake.tiled{tile=8} fault=build_fails; fake.tiled{tile=16} fault=load_fails");
  const Solver& tiled = *backend_->solvers()[1];
  const Config eight{{"tile", int64_t{8}}, {"unroll", int64_t{1}}, {"threads", int64_t{1}}};
  const Config sixteen{{"tile", int64_t{16}}, {"unroll", int64_t{1}}, {"threads", int64_t{1}}};

  const auto failed = tiled.Build(*tiled.Recipe(problem_, eight, FakeTarget()));
  const auto built = tiled.Build(*tiled.Recipe(problem_, sixteen, FakeTarget()));

  EXPECT_FALSE(failed.ok());
  ASSERT_TRUE(built.ok());
  EXPECT_FALSE(tiled.Load(*built, problem_, sixteen, *device_).ok());
}

TEST_F(FakeBackendTest, TimeFollowsTheScriptAndItsNoise) {
  Use("* time_ns=5000 sigma=0; device seed=9");
  const double quiet_ns = *device_->TimeNs(*executable_, operands_->arguments(), {});
  const double cold_ns = *device_->TimeNs(*executable_, operands_->arguments(),
                                          {.launches = 3, .cache = CacheState::kCold});
  Use("* time_ns=5000 sigma=0.1");
  const double noisy_ns = *device_->TimeNs(*executable_, operands_->arguments(), {});

  EXPECT_EQ(quiet_ns, 5000);
  EXPECT_EQ(cold_ns, 7500);
  EXPECT_NE(noisy_ns, 5000);
  EXPECT_NEAR(std::log(noisy_ns / 5000), 0, 0.6);
}

TEST_F(FakeBackendTest, EqualSeedsGiveEqualTimes) {
  Use("device seed=3");
  const double first_ns = *device_->TimeNs(*executable_, operands_->arguments(), {});
  Use("device seed=3");
  const double second_ns = *device_->TimeNs(*executable_, operands_->arguments(), {});

  EXPECT_EQ(first_ns, second_ns);
}

TEST(FakeModelTest, BestConfigOfTheModelIsTheDocumentedOne) {
  const Problem problem = Normalized(PackedGemm(128, 128, 128));
  const SolverList solvers = MakeFakeSolvers({});
  const Solver& tiled = *solvers[1];
  const ConfigSpace space = *tiled.Space(problem, FakeTarget());
  uint64_t best = 0;

  for (uint64_t i = 1; i < space.size(); ++i) {
    const double time_ns = FakeModelTimeNs(problem, {tiled.id(), space.At(i)});
    if (time_ns < FakeModelTimeNs(problem, {tiled.id(), space.At(best)})) best = i;
  }

  EXPECT_EQ(Text(space.At(best)), "threads=2,tile=16,unroll=4");
}

}  // namespace
}  // namespace attune
