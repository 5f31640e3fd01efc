// A run time that serves only what is known leaves all else to its caller.
#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/test_server.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KnownOnlyTest : public ServerTest {
 protected:
  TestServer KnownOnly(MissPolicy policy, const std::string& forced = "") {
    TestServerOptions options;
    options.server.policy = policy;
    options.dispatch.known_only = true;
    options.tuned = [this](const Problem& problem) {
      Record(problem, machine_.quick->At(2));
      return Status::Ok();
    };
    options.dispatch.forced = ForcedChoices::Parse(forced, machine_.solvers).value();
    return TestServer(machine_, options);
  }
  // That `winner` is better than the default, which is another one.
  void Record(const Problem& problem, const Candidate& winner) {
    IndexedChoice choice = ChoiceOf({winner, machine_.plain->At(0)});
    choice.default_position = 1;
    machine_.choices->Add(problem, choice);
  }
};

TEST_F(KnownOnlyTest, WhatNobodyMeasuredIsNotFoundAndNothingIsLoaded) {
  TestServer server = KnownOnly(MissPolicy::kNever);

  const Plan* plan = server.Call(problem_);

  EXPECT_EQ(plan->failure().code(), StatusCode::kNotFound);
  EXPECT_THAT(plan->failure().message(), HasSubstr("serves only what is known"));
  EXPECT_EQ(machine_.quick->loads.all(), 0);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.misses_by_reason[static_cast<size_t>(MissReason::kUnrecorded)], 1U);
  EXPECT_EQ(counters.failures, 0U);
}

TEST_F(KnownOnlyTest, ARecordServes) {
  Record(problem_, machine_.quick->At(1));

  EXPECT_EQ(KnownOnly(MissPolicy::kNever).SolverOfCall(problem_), "test.quick-gemm");
}

TEST_F(KnownOnlyTest, TheNearestTunedProblemServes) {
  const Problem neighbour = ProductOf(4, 4, 8);
  Record(neighbour, machine_.quick->At(1));
  machine_.choices->AddNeighbour(neighbour, 1);

  EXPECT_EQ(KnownOnly(MissPolicy::kNever).SolverOfCall(problem_), "test.quick-gemm");
}

TEST_F(KnownOnlyTest, WhereTheDefaultWonTheCallerComputesAndNobodyTunesAgain) {
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(0), machine_.quick->At(1)}));
  TestServer server = KnownOnly(MissPolicy::kDeferred);

  const Plan* plan = server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(plan->failure().code(), StatusCode::kNotFound);
  EXPECT_THAT(plan->failure().message(), HasSubstr("The default was measured to be the best"));
  EXPECT_EQ(server.tunings(), 0);
  EXPECT_EQ(machine_.quick->loads.all(), 0);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.misses_by_reason[static_cast<size_t>(MissReason::kFirstCall)], 1U);
}

TEST_F(KnownOnlyTest, AForcedChoiceServes) {
  EXPECT_EQ(KnownOnly(MissPolicy::kNever, "test.plain-gemm").SolverOfCall(problem_),
            "test.plain-gemm");
}

TEST_F(KnownOnlyTest, WhatIsKnownButSlowToMakeIsLeftToTheCallerUntilItIsReady) {
  Record(problem_, machine_.compiled->At(1));
  std::latch asked(1);
  machine_.compiled->on_load = [&](const Config&) {
    asked.wait();
    return Status::Ok();
  };
  TestServer server = KnownOnly(MissPolicy::kNever);

  EXPECT_EQ(server.Call(problem_)->failure().code(), StatusCode::kNotFound);
  asked.count_down();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");
  EXPECT_EQ(machine_.builds_in_this_thread(), 0);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.misses_by_reason[static_cast<size_t>(MissReason::kNotReady)], 1U);
}

TEST_F(KnownOnlyTest, UnderDeferredTheUnknownIsTunedAndServedFromThenOn) {
  TestServer server = KnownOnly(MissPolicy::kDeferred);

  EXPECT_EQ(server.Call(problem_)->failure().code(), StatusCode::kNotFound);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.quick-gemm");
  EXPECT_EQ(server.tunings(), 1);
}

TEST_F(KnownOnlyTest, UnderRecordTheUnknownIsNoted) {
  TestServer server = KnownOnly(MissPolicy::kRecord);

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_THAT(server.recorded(), ElementsAre(Text(problem_)));
}

TEST_F(KnownOnlyTest, ACallDoesNotStallForWhatItIsNotServed) {
  TestServer server = KnownOnly(MissPolicy::kNever);

  EXPECT_EQ(server.WouldStall(problem_), std::nullopt);
}

}  // namespace
}  // namespace attune
