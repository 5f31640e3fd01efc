// What a plan server says of itself: whether a call would stall, and what its listener hears.
#include "attune/dispatch/plan_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "attune/dispatch/step_watch.h"
#include "attune/dispatch/test_server.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PlanServerAnswersTest : public ServerTest {};

TEST_F(PlanServerAnswersTest, WouldStallSaysNothingWhereSomethingIsReady) {
  TestServer server = Server(MissPolicy::kDeferred);

  EXPECT_EQ(server.WouldStall(problem_), std::nullopt);
  EXPECT_EQ(server->counters().misses, 0U);
}

TEST_F(PlanServerAnswersTest, WouldStallNamesWhatHasToBeCreated) {
  machine_.quick->applies = [](const Gemm&) { return Unsupported("No."); };
  machine_.plain->applies = machine_.quick->applies;
  TestServer server = Server(MissPolicy::kDeferred);

  EXPECT_EQ(server.WouldStall(problem_),
            "Nothing that serves it is ready; test.slow-gemm@1{variant=0} has to be created.");
  server.Call(problem_);
  EXPECT_EQ(server.WouldStall(problem_), std::nullopt);
}

TEST_F(PlanServerAnswersTest, WouldStallKnowsThatALastResortThatCrawlsIsNotWaitedFor) {
  machine_.quick->applies = [](const Gemm&) { return Unsupported("No."); };
  TestServer server = Server(MissPolicy::kDeferred);

  EXPECT_NE(server.WouldStall(ProductOf(1000, 1000, 1000)), std::nullopt);
  EXPECT_EQ(server.WouldStall(problem_), std::nullopt);
}

TEST_F(PlanServerAnswersTest, WouldStallSaysThatInlineTunes) {
  TestServer server = Server(MissPolicy::kInline);

  EXPECT_EQ(server.WouldStall(problem_),
            "It is not tuned, and the policy is to tune it in the calling thread.");
}

TEST_F(PlanServerAnswersTest, WouldStallSaysThatADeterministicRunTimeWaits) {
  TestServer server = Server(MissPolicy::kNever, /*deterministic=*/true);

  EXPECT_EQ(server.WouldStall(problem_),
            "test.slow-gemm@1{variant=0} has to be created, and a deterministic run time waits for "
            "it.");
}

TEST_F(PlanServerAnswersTest, AListenerHearsOfMissesTuningsAndSwaps) {
  machine_.slow->applies = [](const Gemm&) { return Unsupported("No."); };
  TestServer server = Server(MissPolicy::kDeferred);
  server.Listen();

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_THAT(server.events(),
              ElementsAre("miss gemm@1{m=4,n=4,k=4} test.quick-gemm@1{variant=0}: Nothing is known "
                          "of this problem; it stands in for the default.",
                          "tuned gemm@1{m=4,n=4,k=4} -: Its records can be used now.",
                          "swap gemm@1{m=4,n=4,k=4} test.quick-gemm@1{variant=2}: A record of this "
                          "machine chose it."));
}

TEST_F(PlanServerAnswersTest, AListenerHearsOfSkippedRecordsFailuresAndEvictions) {
  machine_.slow->applies = [](const Gemm&) { return Unsupported("No."); };
  TestServerOptions options;
  options.server.max_plans = 1;
  options.tuned = [](const Problem&) { return Unavailable("There is no tuner."); };
  TestServer server(machine_, options);
  machine_.choices->Add(problem_, ChoiceOf({Candidate{{"test.gone-gemm", 1}, {}}}));
  server.Listen();

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());
  server.Call(ProductOf(1, 1, 1));

  EXPECT_THAT(server.events(),
              Contains("skipped gemm@1{m=4,n=4,k=4} -: Solver test.gone-gemm@1 does not exist "
                       "here."));
  EXPECT_THAT(server.events(), Contains("tuning_failed gemm@1{m=4,n=4,k=4} -: There is no tuner."));
  EXPECT_THAT(server.events(), Contains("evicted gemm@1{m=4,n=4,k=4} -: There is room for 1 "
                                        "plans."));
}

TEST_F(PlanServerAnswersTest, AListenerThatWasTakenAwayHearsNothing) {
  TestServer server = Server(MissPolicy::kNever);
  server.Listen();
  server->SetListener(nullptr);

  server.Call(problem_);

  EXPECT_THAT(server.events(), IsEmpty());
}

TEST_F(PlanServerAnswersTest, AServerThatEndsLeavesWhatIsQueued) {
  std::latch begun(1);
  std::latch go_on(1);
  std::atomic<int> tunings{0};
  TestServerOptions options;
  options.tuned = [&](const Problem&) {
    if (tunings++ == 0) begun.count_down();
    go_on.wait();
    return Status::Ok();
  };
  std::optional<TestServer> server(std::in_place, machine_, options);
  server->Call(problem_);
  begun.wait();
  for (int64_t i = 1; i < 1000; ++i) server->Call(ProductOf(i, 2, 1));

  std::thread closer([&] { server.reset(); });
  go_on.count_down();
  closer.join();

  EXPECT_LT(tunings, 1000);
}

// One after the other, each miss has the reason that it met.
TEST_F(PlanServerAnswersTest, EveryMissHasOneReason) {
  const auto reasons = [](TestServer& server) { return server->counters().misses_by_reason; };
  using Reasons = std::array<uint64_t, kMissReasonCount>;
  const Problem recorded = ProductOf(1, 1, 1), stale = ProductOf(2, 2, 2),
                late = ProductOf(3, 3, 3);
  machine_.choices->Add(recorded, ChoiceOf({machine_.quick->At(1)}));
  IndexedChoice old = ChoiceOf({machine_.quick->At(1)});
  old.environment = std::make_shared<const Environment>(TestEnvironment("2"));
  machine_.choices->Add(stale, old);
  machine_.choices->Add(late, ChoiceOf({machine_.slow->At(1), machine_.quick->At(1)}));
  TestServer server = Server(MissPolicy::kNever);

  server.Call(recorded);
  EXPECT_EQ(reasons(server), (Reasons{1, 0, 0, 0, 0}));
  server.Call(problem_);
  EXPECT_EQ(reasons(server), (Reasons{1, 1, 0, 0, 0}));
  server.Call(stale);
  EXPECT_EQ(reasons(server), (Reasons{1, 1, 1, 0, 0}));
  server.Call(late);
  EXPECT_EQ(reasons(server), (Reasons{1, 1, 1, 1, 0}));
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->applies = [](const Gemm&) { return Unsupported("No."); };
  }
  server.Call(ProductOf(9, 9, 9));
  EXPECT_EQ(reasons(server), (Reasons{1, 1, 1, 1, 1}));
  EXPECT_EQ(server->counters().misses, 5U);
}

}  // namespace
}  // namespace attune
