// A device of which everything has to be compiled, and nothing has been.
#include "attune/dispatch/fallback.h"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

// Computes every product as "test.elsewhere-gemm".
class TestFallback final : public Fallback {
 public:
  std::optional<Candidate> For(const Problem& problem) const override {
    if (!problem.Is<Gemm>()) return std::nullopt;
    return solver_.At(0);
  }
  Result<std::unique_ptr<Executable>> Load(const Problem& problem,
                                           const Candidate& candidate) override {
    if (!load_failure.ok()) return load_failure;
    return solver_.Load(Artifact{}, problem, candidate.config, device_);
  }
  std::string because() const override { return "It is computed elsewhere."; }

  Status load_failure;

 private:
  TestDevice device_;
  const TestSolver solver_{"test.elsewhere-gemm"};
};

class FallbackTest : public ServerTest {
 protected:
  FallbackTest() {
    for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.plain}) {
      solver->applies = [](const Gemm&) { return Unsupported("No."); };
    }
    machine_.fallback = &fallback_;
  }

  // Nothing is compiled before the test opens it.
  std::latch gate_{1};
  TestFallback fallback_;
};

TEST_F(FallbackTest, ServesWhileTheBackgroundCompiles) {
  machine_.compiled->on_build = [&] { gate_.wait(); };
  TestServer server = Server(MissPolicy::kDeferred);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.elsewhere-gemm");
  gate_.count_down();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");
  EXPECT_EQ(machine_.builds(), 1);
  EXPECT_EQ(machine_.builds_in_this_thread(), 0);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.builds_in_caller, 0U);
  EXPECT_EQ(counters.builds_in_background, 1U);
  EXPECT_EQ(counters.stand_ins, 1U);
}

TEST_F(FallbackTest, ServesWhereALibraryCompilesWhenItIsCalledFirst) {
  machine_.compiled->traits_.compiles = false;
  machine_.compiled->traits_.compiles_when_loaded = true;
  TestServer server = Server(MissPolicy::kNever);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.elsewhere-gemm");
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");
  EXPECT_EQ(machine_.slow_loads_in_this_thread(), 0);
}

TEST_F(FallbackTest, ServesUnderInlineToo) {
  TestServerOptions options;
  options.server.policy = MissPolicy::kInline;
  options.tuned = [](const Problem&) { return Internal("It broke."); };
  TestServer server(machine_, options);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.elsewhere-gemm");
}

TEST_F(FallbackTest, IsNotAskedWhereTheKernelIsKept) {
  TestServer earlier = Server(MissPolicy::kNever);
  earlier.Call(problem_);
  ASSERT_TRUE(earlier.WaitIdle());
  TestServer server = Server(MissPolicy::kNever);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");

  EXPECT_EQ(machine_.builds(), 1);
  EXPECT_EQ(server->counters().builds_in_caller, 0U);
}

TEST_F(FallbackTest, StaysWhereNothingCanBeCompiledAndTheReasonIsTold) {
  machine_.compiled->build_failure = Internal("The compiler crashed.");
  TestServer server = Server(MissPolicy::kNever);
  server.Listen();

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.elsewhere-gemm");
  EXPECT_THAT(server.events(), ::testing::Contains(HasSubstr("The compiler crashed.")));
}

TEST_F(FallbackTest, AnyOtherSolverIsTriedWhereThePreferredOneCannotBeCompiled) {
  machine_.compiled->build_failure = Internal("The compiler crashed.");
  TestSolver* other = machine_.Add("test.other-compiled-gemm");
  other->traits_ = machine_.compiled->traits_;
  TestServer server = Server(MissPolicy::kNever);

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.other-compiled-gemm");
}

TEST_F(FallbackTest, IsNoStall) {
  TestServer server = Server(MissPolicy::kNever);

  EXPECT_EQ(server.WouldStall(problem_), std::nullopt);
}

TEST_F(FallbackTest, WithoutOneCallsFailUntilTheBackgroundHasCompiled) {
  machine_.fallback = nullptr;
  machine_.compiled->on_build = [&] { gate_.wait(); };
  TestServer server = Server(MissPolicy::kDeferred);
  EXPECT_EQ(server.WouldStall(problem_),
            "Nothing that serves it is compiled; calls fail until the background has compiled "
            "test.compiled-gemm@1{variant=0}.");

  const Status failure = server.Call(problem_)->failure();
  const uint64_t failures = server->counters().failures;
  gate_.count_down();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(failure.code(), StatusCode::kUnavailable);
  EXPECT_THAT(failure.message(), HasSubstr("test.compiled-gemm@1{variant=0} is being compiled"));
  EXPECT_EQ(failures, 1U);
  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");
  EXPECT_EQ(machine_.builds_in_this_thread(), 0);
}

TEST_F(FallbackTest, WithoutOneTheReasonWhyNothingCanBeCompiledTakesThePlaceOfNotYet) {
  machine_.fallback = nullptr;
  machine_.compiled->build_failure = Internal("The compiler crashed.");
  TestServer server = Server(MissPolicy::kNever);

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_THAT(server.Call(problem_)->failure().message(), HasSubstr("The compiler crashed."));
}

TEST_F(FallbackTest, OneThatFailsIsAsGoodAsNone) {
  fallback_.load_failure = Internal("There is no memory.");
  machine_.compiled->on_build = [&] { gate_.wait(); };
  TestServer server = Server(MissPolicy::kNever);

  EXPECT_EQ(server.Call(problem_)->failure().code(), StatusCode::kUnavailable);

  gate_.count_down();
}

TEST_F(FallbackTest, WithoutOneInlineCompilesInTheCaller) {
  machine_.fallback = nullptr;
  TestServerOptions options;
  options.server.policy = MissPolicy::kInline;
  options.tuned = [](const Problem&) { return Internal("It broke."); };
  TestServer server(machine_, options);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");

  EXPECT_EQ(server->counters().builds_in_caller, 1U);
}

TEST_F(FallbackTest, AForcedChoiceIsCompiledInTheCaller) {
  TestServerOptions options;
  options.dispatch.forced = *ForcedChoices::Parse("test.compiled-gemm", machine_.solvers);
  TestServer server(machine_, options);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");

  EXPECT_EQ(server->counters().builds_in_caller, 1U);
}

TEST_F(FallbackTest, ADeterministicServerCompilesInTheCaller) {
  TestServer server = Server(MissPolicy::kNever, true);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");

  EXPECT_EQ(server->counters().builds_in_caller, 1U);
}

}  // namespace
}  // namespace attune
