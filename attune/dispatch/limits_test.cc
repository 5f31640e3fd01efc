// Serving while process limits exclude the preferred candidate.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/exit_gate.h"
#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

Target HostTarget() { return {"host", "Test processor", "v1", 2, {}}; }

// A solver that runs on all units or on one thread. `failure` is the result of every load that
// requests more threads than can start.
class ThreadedSolver final : public Solver {
 public:
  explicit ThreadedSolver(std::string name) : id_{std::move(name), 1} {
    traits_.operator_name = "gemm";
    traits_.instant = true;
  }

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target& target) const override {
    std::vector<ParameterValue> values;
    for (int64_t threads = target.compute_units; threads >= 1; --threads) {
      values.emplace_back(threads);
    }
    return ConfigSpace::Create({Parameter{"threads", values}}, {});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe{};
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact{}; }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem& problem,
                                           const Config& config, Device&) const override {
    if (IntegerAt(config, "threads") > threads_left) return failure;
    return std::make_unique<TestExecutable>(problem.Get<Gemm>(), 0, workspace_bytes);
  }
  void FailAtExit() { traits_.fails_at_exit = true; }
  Candidate On(int64_t threads) const { return {id_, {{"threads", threads}}}; }

  int64_t threads_left = 2;
  Status failure = ResourceExhausted("no threads are left");
  size_t workspace_bytes = 0;

 private:
  const SolverId id_;
  SolverTraits traits_;
};

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() : first_(Add("host.first-gemm")), second_(Add("host.second-gemm")) {}

  ThreadedSolver& Add(const std::string& name) {
    auto solver = std::make_unique<ThreadedSolver>(name);
    ThreadedSolver& added = *solver;
    solvers_.push_back(std::move(solver));
    return added;
  }
  std::unique_ptr<PlanServer> Server(DispatchOptions options, const std::string& forced = "") {
    options.forced = ForcedChoices::Parse(forced, solvers_).value();
    DispatchParts parts;
    parts.solvers = &solvers_;
    parts.device = &device_;
    parts.target = HostTarget();
    parts.environment = TestEnvironment();
    parts.kernels = &kernels_;
    ServerHooks hooks;
    hooks.choices = [this] { return choices_; };
    hooks.record = [this](const Problem&) {
      ++recorded_;
      return Status::Ok();
    };
    ServerOptions server;
    server.policy = MissPolicy::kRecord;
    server.thread_limit = {[](void* allowed) { return *static_cast<int32_t*>(allowed); },
                           &allowed_threads_};
    return std::make_unique<PlanServer>(std::move(parts), std::move(options), server,
                                        std::move(hooks));
  }
  Plan* Call(PlanServer& server) {
    return server.FindOrMake(KeyOfTest(problem_), problem_, kNoWorkspaceLimit);
  }
  static std::string ServedBy(const Plan* plan) {
    return plan->failure().ok() ? Text(plan->option().candidate) : plan->failure().message();
  }
  void Record(const std::vector<Candidate>& ranking) {
    IndexedChoice choice = ChoiceOf(ranking);
    choice.target = std::make_shared<const Target>(HostTarget());
    choices_->Add(problem_, std::move(choice));
  }

  SolverList solvers_;
  ThreadedSolver& first_;
  ThreadedSolver& second_;
  TestDevice device_;
  MemoryKernelCache kernels_;
  std::shared_ptr<TestChoices> choices_ = std::make_shared<TestChoices>();
  std::atomic<int> recorded_{0};
  int32_t allowed_threads_ = 0;
  const Problem problem_ = ProductOf(4, 4, 4);
};

TEST_F(LimitsTest, AnotherCandidateServesWhereTheDefaultCannot) {
  first_.threads_left = 0;
  const auto server = Server({});

  EXPECT_EQ(ServedBy(Call(*server)), "host.second-gemm@1{threads=2}");
}

TEST_F(LimitsTest, OneThreadServesWhereNoMoreCanBeStarted) {
  first_.threads_left = second_.threads_left = 1;
  const auto server = Server({});

  EXPECT_EQ(ServedBy(Call(*server)), "host.first-gemm@1{threads=1}");
}

TEST_F(LimitsTest, ACallerWithAnImplementationOfItsOwnComputesInstead) {
  first_.threads_left = 1;
  DispatchOptions options;
  options.yields = true;
  const auto server = Server(options);

  const Plan* plan = Call(*server);
  ASSERT_TRUE(server->WaitIdle(std::chrono::seconds(60)));

  EXPECT_EQ(plan->failure().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(plan->failure().message(), HasSubstr("no threads are left"));
  EXPECT_EQ(server->FindOrMakeFrugal(problem_, kNoWorkspaceLimit), nullptr);
  EXPECT_EQ(recorded_, 1);
}

TEST_F(LimitsTest, TheSolverThatIsForcedComputesOnOneThread) {
  second_.threads_left = 1;
  const auto server = Server({}, "host.second-gemm");

  EXPECT_EQ(ServedBy(Call(*server)), "host.second-gemm@1{threads=1}");
}

// The gate does not open again, so a child closes it.
TEST_F(LimitsTest, DuringAnExitALibraryThatNeedsStaticObjectsIsReplaced) {
  first_.FailAtExit();
  const auto served = [&](const std::string& forced) {
    const auto server = Server({}, forced);
    const bool by_first = Call(*server)->option().candidate.solver == first_.id();
    const bool was_marked = Call(*server)->fails_at_exit();
    ExitGate::Close();
    const Plan* frugal = server->FindOrMakeFrugal(problem_, kNoWorkspaceLimit);
    const Plan* fresh =
        server->FindOrMake(KeyOfTest(ProductOf(8, 8, 8)), ProductOf(8, 8, 8), kNoWorkspaceLimit);
    return by_first && was_marked && ServedBy(frugal) == "host.second-gemm@1{threads=1}" &&
           fresh->option().candidate.solver == second_.id();
  };

  for (const std::string forced : {"", "host.first-gemm"}) {
    EXPECT_EXIT(std::_Exit(served(forced) ? 0 : 1), testing::ExitedWithCode(0), "") << forced;
  }
}

TEST_F(LimitsTest, AForcedChoiceThatCannotEvenDoThatIsReplaced) {
  second_.threads_left = 0;
  const auto server = Server({}, "host.second-gemm");

  EXPECT_EQ(ServedBy(Call(*server)), "host.first-gemm@1{threads=1}");
}

TEST_F(LimitsTest, AForcedChoiceThatFailsOtherwiseIsNotReplaced) {
  second_.threads_left = 0;
  second_.failure = Internal("it is broken");
  const auto server = Server({}, "host.second-gemm");

  EXPECT_EQ(Call(*server)->failure().code(), StatusCode::kInternal);
}

TEST_F(LimitsTest, ARecordOfMoreThreadsThanAreAllowedIsLeftOut) {
  Record({second_.On(2), second_.On(1), first_.On(1)});
  DispatchOptions options;
  options.max_threads = 1;
  const auto server = Server(options);

  EXPECT_EQ(ServedBy(Call(*server)), "host.second-gemm@1{threads=1}");
}

TEST_F(LimitsTest, TheDefaultHasNoMoreThreadsThanAreAllowed) {
  DispatchOptions options;
  options.max_threads = 1;
  const auto server = Server(options);

  EXPECT_EQ(ServedBy(Call(*server)), "host.first-gemm@1{threads=1}");
}

TEST_F(LimitsTest, AForcedConfigOfMoreThreadsThanAreAllowedIsALimitToo) {
  DispatchOptions options;
  options.max_threads = 1;
  options.yields = true;
  const auto server = Server(options, "host.first-gemm@1{threads=2}");

  EXPECT_EQ(Call(*server)->failure().code(), StatusCode::kResourceExhausted);
}

TEST_F(LimitsTest, AProgramThatLowersItsNumberOfThreadsComputesItself) {
  DispatchOptions options;
  options.yields = true;
  const auto server = Server(options);
  allowed_threads_ = 1;

  EXPECT_EQ(Call(*server)->failure().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(recorded_, 1);
  Record({second_.On(2)});
  server->Refresh();
  ASSERT_TRUE(server->WaitIdle(std::chrono::seconds(60)));
  EXPECT_EQ(Call(*server)->failure().code(), StatusCode::kResourceExhausted);

  allowed_threads_ = 2;
  const Plan* plan = Call(*server);
  EXPECT_EQ(ServedBy(plan), "host.second-gemm@1{threads=2}");
  EXPECT_TRUE(server->Allows(*plan));
  allowed_threads_ = 1;
  EXPECT_FALSE(server->Allows(*plan));
}

TEST_F(LimitsTest, OneThreadServesWhenTheProgramLowersItsNumberOfThreads) {
  const auto server = Server({});
  allowed_threads_ = 1;

  const Plan* plan = Call(*server);

  EXPECT_EQ(ServedBy(plan), "host.first-gemm@1{threads=1}");
  EXPECT_TRUE(server->Allows(*plan));
  allowed_threads_ = 2;
  EXPECT_EQ(ServedBy(Call(*server)), "host.first-gemm@1{threads=2}");
}

TEST_F(LimitsTest, AFrugalPlanNeedsNoMoreWorkspaceThanTheLimit) {
  first_.workspace_bytes = 64;
  const auto server = Server({});

  EXPECT_EQ(ServedBy(server->FindOrMakeFrugal(problem_, kNoWorkspaceLimit)),
            "host.first-gemm@1{threads=1}");
  EXPECT_EQ(ServedBy(server->FindOrMakeFrugal(problem_, 0)), "host.second-gemm@1{threads=1}");
}

TEST_F(LimitsTest, AFrugalPlanStaysFrugalWhenRecordsCome) {
  const auto server = Server({});
  server->FindOrMakeFrugal(problem_, kNoWorkspaceLimit);

  Record({second_.On(2)});
  server->Refresh();
  ASSERT_TRUE(server->WaitIdle(std::chrono::seconds(60)));

  EXPECT_EQ(ServedBy(server->FindOrMakeFrugal(problem_, kNoWorkspaceLimit)),
            "host.first-gemm@1{threads=1}");
}

}  // namespace
}  // namespace attune
