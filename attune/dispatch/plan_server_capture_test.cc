// Calls on queues that are captured: served, never tuned, and by nothing that no graph can hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/plan_server.h"
#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class PlanServerCaptureTest : public ServerTest {
 protected:
  // Records that the first of `candidates` won and cannot be captured.
  void AddWinnerThatFailsCapture(const std::vector<Candidate>& candidates) {
    IndexedChoice choice = ChoiceOf(candidates);
    choice.ranking.front().fails_capture = true;
    machine_.choices->Add(problem_, std::move(choice));
  }

  const QueueState executed_{7, 0};
  const QueueState captured_{0, 3};
};

TEST_F(PlanServerCaptureTest, InlineServesACapturedMissAtOnceAndTunesTheNextCallOutsideOfIt) {
  TestServer server = Server(MissPolicy::kInline);
  server.Listen();

  const Origin in_graph = server.CallOn(captured_, problem_)->option().origin;
  const int tunings_in_capture = server.tunings();
  const Origin afterwards = server.CallOn(executed_, problem_)->option().origin;

  EXPECT_EQ(in_graph, Origin::kDefault);
  EXPECT_EQ(tunings_in_capture, 0);
  EXPECT_EQ(afterwards, Origin::kMeasured);
  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server->counters().tunings_put_off, 1U);
  EXPECT_THAT(server.events(), Contains(HasSubstr("not tuned while the queue of the call")));
}

TEST_F(PlanServerCaptureTest, DeferredQueuesNoTuningForACapturedMiss) {
  TestServer server = Server(MissPolicy::kDeferred);

  server.CallOn(captured_, problem_);
  ASSERT_TRUE(server.WaitIdle());
  const int tunings_after_capture = server.tunings();
  server.CallOn(executed_, problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(tunings_after_capture, 0);
  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server->counters().tunings_put_off, 1U);
}

TEST_F(PlanServerCaptureTest, WhatIsTunedMeanwhileServesTheNextCapture) {
  TestServer server = Server(MissPolicy::kDeferred);
  server.CallOn(captured_, problem_);
  server.CallOn(executed_, problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.CallOn(captured_, problem_)->option().candidate, machine_.quick->At(2));
}

TEST_F(PlanServerCaptureTest, AQueueThatDoesNotTellItsStateIsNotTunedFor) {
  TestServer server = Server(MissPolicy::kInline);
  machine_.device.state_failure = FailedPrecondition("The capture is void.");

  server.CallOn(executed_, problem_);

  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerCaptureTest, AnExecutedCallOnAQueueIsTunedAsEver) {
  TestServer server = Server(MissPolicy::kInline);

  server.CallOn(executed_, problem_);

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server->counters().tunings_put_off, 0U);
}

TEST_F(PlanServerCaptureTest, NothingIsPutOffWhereNothingWouldBeTuned) {
  TestServer server = Server(MissPolicy::kNever);

  server.CallOn(captured_, problem_);

  EXPECT_EQ(server->counters().tunings_put_off, 0U);
}

TEST_F(PlanServerCaptureTest, APlanThatWasMadeBeforeBecomesPartOfTheGraph) {
  TestServer server = Server(MissPolicy::kInline);
  const Plan* const before = server.Call(problem_);

  EXPECT_EQ(server.CallOn(captured_, problem_), before);
  EXPECT_EQ(server->counters().misses, 1U);
}

TEST_F(PlanServerCaptureTest, ADeterministicRunTimeHasOneChoiceInsideAndOutsideOfCaptures) {
  TestServer server = Server(MissPolicy::kInline, true);

  const Plan* const in_graph = server.CallOn(captured_, problem_);

  EXPECT_EQ(server.CallOn(executed_, problem_), in_graph);
  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerCaptureTest, AWinnerThatCannotBeCapturedLeavesTheGraphToTheNextOne) {
  TestServer server = Server(MissPolicy::kInline);
  AddWinnerThatFailsCapture({machine_.quick->At(1), machine_.quick->At(2)});

  const Candidate executed = server.CallOn(executed_, problem_)->option().candidate;
  const Candidate captured = server.CallOn(captured_, problem_)->option().candidate;

  EXPECT_EQ(executed, machine_.quick->At(1));
  EXPECT_EQ(captured, machine_.quick->At(2));
  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerCaptureTest, ADefaultThatIsKnownToFailInACaptureIsLeftOutOfItToo) {
  machine_.slow->applies = [](const Gemm&) { return Unsupported("No."); };
  TestServer server = Server(MissPolicy::kNever);
  AddWinnerThatFailsCapture({machine_.quick->At(0)});

  EXPECT_EQ(server.CallOn(captured_, problem_)->option().candidate.solver.name, "test.plain-gemm");
}

TEST_F(PlanServerCaptureTest, WhereNothingCanBeCapturedTheCallSaysSo) {
  for (TestSolver* solver : {machine_.slow, machine_.compiled, machine_.plain}) {
    solver->applies = [](const Gemm&) { return Unsupported("No."); };
  }
  TestServer server = Server(MissPolicy::kNever);
  AddWinnerThatFailsCapture({machine_.quick->At(0)});

  const Status failure = server.CallOn(captured_, problem_)->failure();

  EXPECT_EQ(failure.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(failure.message(), HasSubstr("Call it outside of the capture."));
  EXPECT_TRUE(server.CallOn(executed_, problem_)->failure().ok());
}

TEST_F(PlanServerCaptureTest, ABetterCandidateThatCannotBeCapturedIsNotSwappedIntoGraphs) {
  TestServer server = Server(MissPolicy::kNever);
  server.CallOn(captured_, problem_);
  ASSERT_TRUE(server.WaitIdle());
  AddWinnerThatFailsCapture({machine_.quick->At(2), machine_.quick->At(1)});

  server->Refresh();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.CallOn(captured_, problem_)->option().candidate, machine_.quick->At(1));
}

}  // namespace
}  // namespace attune
