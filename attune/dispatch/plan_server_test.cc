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

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PlanServerTest : public ServerTest {};

TEST_F(PlanServerTest, AMissThenHits) {
  machine_.slow->applies = [](const Gemm&) { return Unsupported("No."); };
  TestServer server = Server(MissPolicy::kNever);

  const Plan* const plan = server.Call(problem_);

  EXPECT_EQ(server.Call(problem_), plan);
  EXPECT_EQ(server.Call(problem_), plan);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.misses, 1U);
  EXPECT_EQ(counters.hits, 2U);
  EXPECT_GT(counters.miss_ns, 0);
}

TEST_F(PlanServerTest, AThreadThatMeetsAKnownShapeForTheFirstTimeCountsAHit) {
  TestServer server = Server(MissPolicy::kNever);
  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());
  const Plan* const plan = server->Pin(KeyOfTest(problem_), problem_, kNoWorkspaceLimit)->current();

  std::thread([&] { EXPECT_EQ(server.Call(problem_), plan); }).join();

  EXPECT_EQ(server->counters().misses, 1U);
  EXPECT_EQ(server->counters().hits, 2U);
}

TEST_F(PlanServerTest, AHitAllocatesNothingAndTakesNoLock) {
  TestServer server = Server(MissPolicy::kNever);
  server.Call(problem_);
  const PlanKey key = KeyOfTest(problem_);
  const uint64_t allocations = AllocationsOfThisThread();
  const uint64_t locks = LocksOfThisThread();

  for (int i = 0; i < 1000; ++i) ASSERT_NE(server->Find(key), nullptr);

  EXPECT_EQ(AllocationsOfThisThread(), allocations);
  EXPECT_EQ(LocksOfThisThread(), locks);
}

TEST_F(PlanServerTest, EveryOriginIsCountedAsWhatItIs) {
  TestServer server = Server(MissPolicy::kNever);
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));
  const Problem unknown = ProductOf(4, 4, 5);

  server.Call(problem_);
  server.Call(unknown);

  const ServerCounters counters = server->counters();
  EXPECT_THAT(counters.misses_by_origin, ElementsAre(0, 1, 0, 0, 0, 1));
}

TEST_F(PlanServerTest, AStandInIsServedAndTheBetterOneIsSwappedInWithoutTheCaller) {
  std::latch served(1);
  machine_.slow->on_load = [&](const Config&) {
    served.wait();
    return Status::Ok();
  };
  TestServer server = Server(MissPolicy::kNever);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.quick-gemm");
  served.count_down();
  ASSERT_TRUE(server.WaitIdle());
  EXPECT_EQ(server.SolverOfCall(problem_), "test.slow-gemm");

  EXPECT_EQ(machine_.slow_loads_in_this_thread(), 0);
  const ServerCounters counters = server->counters();
  EXPECT_EQ(counters.stand_ins, 1U);
  EXPECT_EQ(counters.swaps, 1U);
  EXPECT_EQ(counters.builds_in_caller, 0U);
}

TEST_F(PlanServerTest, WhatHasToBeCompiledIsCompiledInTheBackground) {
  std::latch served(1);
  machine_.compiled->on_load = [&](const Config&) {
    served.wait();
    return Status::Ok();
  };
  TestServer server = Server(MissPolicy::kNever);
  machine_.choices->Add(problem_, ChoiceOf({machine_.compiled->At(1)}));

  EXPECT_EQ(server.SolverOfCall(problem_), "test.quick-gemm");
  served.count_down();
  ASSERT_TRUE(server.WaitIdle());
  EXPECT_EQ(server.SolverOfCall(problem_), "test.compiled-gemm");

  EXPECT_EQ(machine_.builds(), 1);
  EXPECT_EQ(machine_.builds_in_this_thread(), 0);
  EXPECT_EQ(server->counters().builds_in_background, 1U);
  EXPECT_EQ(server->counters().builds_in_caller, 0U);
}

TEST_F(PlanServerTest, IfTheBetterOneCannotBeLoadedTheStandInStays) {
  TestServer server = Server(MissPolicy::kNever);
  machine_.slow->on_load = [](const Config&) { return Internal("It broke."); };

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.SolverOfCall(problem_), "test.quick-gemm");
  EXPECT_EQ(server->counters().swaps, 0U);
}

TEST_F(PlanServerTest, WhatNobodyHasReadyIsCreatedInTheCallerAndCounted) {
  machine_.quick->applies = [](const Gemm&) { return Unsupported("No."); };
  machine_.plain->applies = machine_.quick->applies;
  TestServer server = Server(MissPolicy::kNever);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.slow-gemm");

  EXPECT_EQ(server->counters().builds_in_caller, 1U);
}

TEST_F(PlanServerTest, DeferredTunesOnceInTheBackgroundAndSwapsTheWinnerIn) {
  TestServer server = Server(MissPolicy::kDeferred);

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  const Plan* const plan = server.Call(problem_);
  EXPECT_EQ(plan->option().origin, Origin::kMeasured);
  EXPECT_EQ(plan->option().candidate, machine_.quick->At(2));
  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server.tunings_in_this_thread(), 0);
  EXPECT_EQ(server->counters().tunings, 1U);
}

TEST_F(PlanServerTest, DeferredDoesNotTuneWhatARecordServes) {
  TestServer server = Server(MissPolicy::kDeferred);
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerTest, DeferredTunesWhatIsForcedNever) {
  TestServerOptions options;
  options.dispatch.forced = ForcedChoices::Parse("test.plain-gemm", machine_.solvers).value();
  TestServer server(machine_, options);

  EXPECT_EQ(server.SolverOfCall(problem_), "test.plain-gemm");
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 0);
  EXPECT_EQ(server.SolverOfCall(problem_), "test.plain-gemm");
}

TEST_F(PlanServerTest, DeferredTunesAgainWhereARecordNamesASolverThatIsGone) {
  TestServer server = Server(MissPolicy::kDeferred);
  machine_.choices->Add(problem_, ChoiceOf({Candidate{{"test.gone-gemm", 1}, {}}}));

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server->counters().skipped_records, 1U);
  EXPECT_EQ(server.Call(problem_)->option().candidate, machine_.quick->At(2));
}

TEST_F(PlanServerTest, DeferredTunesAgainWhereTheParametersOfARecordFitNoMore) {
  std::latch served(1);
  TestServerOptions options;
  options.tuned = [&](const Problem& problem) {
    served.wait();
    machine_.choices->Add(problem, ChoiceOf({machine_.quick->At(2)}));
    return Status::Ok();
  };
  TestServer server(machine_, options);
  Candidate odd = machine_.quick->At(0);
  odd.config["variant"] = int64_t{7};
  machine_.choices->Add(problem_, ChoiceOf({odd}));

  EXPECT_EQ(server.Call(problem_)->option().origin, Origin::kDefault);
  served.count_down();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_GE(server->counters().skipped_records, 1U);
  EXPECT_EQ(server.Call(problem_)->option().candidate, machine_.quick->At(2));
}

TEST_F(PlanServerTest, DeferredTunesAgainWhereARecordFailsToLoadInTheBackground) {
  TestServer server = Server(MissPolicy::kDeferred);
  machine_.slow->on_load = [](const Config&) { return Internal("It broke."); };
  machine_.choices->Add(problem_, ChoiceOf({machine_.slow->At(1)}));

  EXPECT_EQ(server.SolverOfCall(problem_), "test.quick-gemm");
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server.Call(problem_)->option().candidate, machine_.quick->At(2));
}

TEST_F(PlanServerTest, ATuningThatFailsIsCountedAndNotTriedAgain) {
  TestServerOptions options;
  options.tuned = [](const Problem&) { return Unavailable("There is no tuner."); };
  options.server.max_plans = 1;
  TestServer server(machine_, options);

  for (int i = 0; i < 3; ++i) {
    server.Call(problem_);
    server.Call(ProductOf(1, 1, 1));
    ASSERT_TRUE(server.WaitIdle());
  }

  EXPECT_EQ(server.tunings(), 2);  // One for each problem.
  EXPECT_EQ(server->counters().tuning_failures, 2U);
  EXPECT_EQ(server->counters().tunings, 0U);
}

TEST_F(PlanServerTest, TuningsBeyondTheQueueAreDroppedAndCounted) {
  std::latch begun(1);
  std::latch go_on(1);
  TestServerOptions options;
  options.server.max_plans = 5000;
  options.tuned = [&](const Problem& problem) {
    if (problem == problem_) {
      begun.count_down();
      go_on.wait();
    }
    return Status::Ok();
  };
  TestServer server(machine_, options);
  server.Call(problem_);
  begun.wait();

  for (int64_t i = 1; i <= 1024 + 100; ++i) server.Call(ProductOf(i, 1, 1));

  EXPECT_EQ(server->counters().tunings_dropped, 100U);
  go_on.count_down();
}

TEST_F(PlanServerTest, InlineTunesInTheCallerBeforeItServes) {
  TestServer server = Server(MissPolicy::kInline);

  const Plan* const plan = server.Call(problem_);

  EXPECT_EQ(plan->option().candidate, machine_.quick->At(2));
  EXPECT_EQ(server.tunings_in_this_thread(), 1);
  server.Call(problem_);
  EXPECT_EQ(server.tunings(), 1);
}

TEST_F(PlanServerTest, InlineServesTheDefaultWhenTheTuningFails) {
  TestServerOptions options;
  options.server.policy = MissPolicy::kInline;
  options.tuned = [](const Problem&) { return Unavailable("There is no tuner."); };
  TestServer server(machine_, options);

  EXPECT_EQ(server.Call(problem_)->option().origin, Origin::kDefault);
  EXPECT_EQ(server->counters().tuning_failures, 1U);
}

TEST_F(PlanServerTest, RecordNotesTheProblemOnceAndTunesNothing) {
  TestServerOptions options;
  options.server.policy = MissPolicy::kRecord;
  options.server.max_plans = 1;
  TestServer server(machine_, options);

  for (int i = 0; i < 3; ++i) {
    server.Call(problem_);
    server.Call(ProductOf(1, 1, 1));
  }
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_THAT(server.recorded(), ElementsAre(Text(problem_), Text(ProductOf(1, 1, 1))));
  EXPECT_EQ(server->counters().recorded, 2U);
  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerTest, RecordNotesProblemsThatAreTunedAsWell) {
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));
  TestServer server = Server(MissPolicy::kRecord);

  EXPECT_EQ(server.Call(problem_)->option().origin, Origin::kMeasured);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_THAT(server.recorded(), ElementsAre(Text(problem_)));
}

TEST_F(PlanServerTest, NeverNeitherTunesNorNotes) {
  TestServer server = Server(MissPolicy::kNever);

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 0);
  EXPECT_THAT(server.recorded(), IsEmpty());
}

TEST_F(PlanServerTest, EveryMissIsToldInTheCallersThreadWhateverThePolicy) {
  for (const MissPolicy policy :
       {MissPolicy::kNever, MissPolicy::kRecord, MissPolicy::kDeferred, MissPolicy::kInline}) {
    constexpr int kShapes = 1500;
    const auto caller = std::this_thread::get_id();
    int told = 0;
    TestServerOptions options;
    options.server.policy = policy;
    options.missed = [&](const Problem&, bool) {
      told += std::this_thread::get_id() == caller ? 1 : 0;
      return false;
    };
    TestServer server(machine_, options);

    for (int i = 1; i <= kShapes; ++i) {
      server.Call(ProductOf(i, 1, 1));
      server.Call(ProductOf(i, 1, 1));
    }
    ASSERT_TRUE(server.WaitIdle());

    EXPECT_EQ(told, kShapes) << Name(policy);
    // Whoever was told wants nothing tuned.
    EXPECT_EQ(server.tunings(), 0) << Name(policy);
  }
}

TEST_F(PlanServerTest, WhoeverIsToldOfAMissMayHaveATunedProblemTuned) {
  for (const MissPolicy policy : {MissPolicy::kDeferred, MissPolicy::kInline}) {
    machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));
    TestServerOptions options;
    options.server.policy = policy;
    options.missed = [](const Problem&, bool is_tuned) { return is_tuned; };
    TestServer server(machine_, options);

    server.Call(problem_);
    ASSERT_TRUE(server.WaitIdle());

    EXPECT_EQ(server.tunings(), 1) << Name(policy);
  }
}

TEST_F(PlanServerTest, SixtyFourThreadsThatMissOneKeyTuneItAndLoadItOnce) {
  TestServer server = Server(MissPolicy::kInline);
  std::latch start(64);
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      EXPECT_EQ(server.Call(problem_)->option().candidate, machine_.quick->At(2));
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(machine_.quick->loads.all(), 1);
  EXPECT_EQ(server->counters().misses, 1U);
  EXPECT_EQ(server->counters().hits, 63U);
}

TEST_F(PlanServerTest, ThreadsThatMissOneProblemUnderDifferentKeysTuneItOnceAndAllGetTheWinner) {
  TestServer server = Server(MissPolicy::kInline);
  std::latch start(16);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      PlanKey key = KeyOfTest(problem_);
      key.Append(i);
      key.Append(uint64_t{0});
      const Plan* plan = server->FindOrMake(key, problem_, kNoWorkspaceLimit);
      EXPECT_EQ(plan->option().candidate, machine_.quick->At(2));
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(server.tunings(), 1);
}

TEST_F(PlanServerTest, SixtyFourThreadsThatMissOneKeyUnderDeferredTuneItOnce) {
  TestServer server = Server(MissPolicy::kDeferred);
  std::latch start(64);
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      server.Call(problem_);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.tunings(), 1);
  EXPECT_EQ(server->counters().misses, 1U);
}

TEST_F(PlanServerTest, DeterministicWaitsForThePreferredOneAndNeverSwaps) {
  TestServer server = Server(MissPolicy::kDeferred, /*deterministic=*/true);

  const Plan* const plan = server.Call(problem_);
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));
  server->Refresh();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(plan->option().candidate.solver.name, "test.slow-gemm");
  EXPECT_EQ(server.Call(problem_), plan);
  EXPECT_EQ(server->counters().swaps, 0U);
  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerTest, DeterministicStillNotesProblems) {
  TestServer server = Server(MissPolicy::kRecord, /*deterministic=*/true);

  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_THAT(server.recorded(), ElementsAre(Text(problem_)));
}

TEST_F(PlanServerTest, ARefreshBringsNewerRecordsToPlansThatServe) {
  TestServer server = Server(MissPolicy::kNever);
  server.Call(problem_);
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));

  server->Refresh();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.Call(problem_)->option().candidate, machine_.quick->At(1));
  EXPECT_EQ(server.Call(problem_)->option().origin, Origin::kMeasured);
}

TEST_F(PlanServerTest, ARefreshThatFindsNothingNewSwapsNothing) {
  TestServer server = Server(MissPolicy::kNever);
  server.Call(problem_);
  ASSERT_TRUE(server.WaitIdle());
  const uint64_t swaps = server->counters().swaps;

  server->Refresh();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server->counters().swaps, swaps);
}

TEST_F(PlanServerTest, ABetterOneThatIsLateDoesNotReplaceANewerRecord) {
  std::latch go_on(1);
  std::atomic<int> slow_loads{0};
  machine_.slow->on_load = [&](const Config&) {
    if (slow_loads++ == 0) go_on.wait();
    return Status::Ok();
  };
  TestServerOptions options;
  options.tuned = [&](const Problem& problem) {
    if (problem != problem_) return Unavailable("Only one is tuned here.");
    machine_.choices->Add(problem, ChoiceOf({machine_.quick->At(2)}));
    return Status::Ok();
  };
  TestServer server(machine_, options);
  server.Call(ProductOf(1, 1, 1));  // Its better one keeps the background busy.
  server.Call(problem_);
  while (server.Call(problem_)->option().origin != Origin::kMeasured) std::this_thread::yield();

  go_on.count_down();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(server.Call(problem_)->option().candidate, machine_.quick->At(2));
  EXPECT_EQ(slow_loads, 1);
}

TEST_F(PlanServerTest, APlanThatWasReplacedTooOftenIsMadeAnew) {
  TestServer server = Server(MissPolicy::kNever);
  for (size_t i = 0; i < 2 * PlanSlot::kMaxVersions; ++i) {
    const Candidate winner = machine_.quick->At(static_cast<int64_t>(i) % 3);
    machine_.choices->Add(problem_, ChoiceOf({winner}));
    server->Refresh();
    ASSERT_TRUE(server.WaitIdle());

    ASSERT_EQ(server.Call(problem_)->option().candidate, winner);
  }
}

TEST_F(PlanServerTest, APinnedPlanIsNotEvictedAndFollowsSwaps) {
  TestServerOptions options;
  options.server.max_plans = 2;
  options.server.policy = MissPolicy::kNever;
  TestServer server(machine_, options);
  const auto slot = server->Pin(KeyOfTest(problem_), problem_, kNoWorkspaceLimit);
  for (int64_t i = 1; i < 50; ++i) server.Call(ProductOf(i, 1, 1));
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));

  server->Refresh();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_EQ(slot->current()->option().candidate, machine_.quick->At(1));
  PlanServer::Unpin(*slot);
}

TEST_F(PlanServerTest, AStreamOfNewShapesIsEvictedAndCounted) {
  TestServerOptions options;
  options.server.max_plans = 16;
  options.server.policy = MissPolicy::kNever;
  TestServer server(machine_, options);

  for (int64_t i = 1; i <= 1000; ++i) ASSERT_NE(server.Call(ProductOf(i, 1, 1)), nullptr);

  EXPECT_EQ(server->counters().evictions, 1000U - 16U);
  EXPECT_EQ(server->counters().misses, 1000U);
}

TEST_F(PlanServerTest, ThatNothingServesIsRememberedAndCountedUntilSomethingDoes) {
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->applies = [](const Gemm&) { return Unsupported("No."); };
  }
  TestServer server = Server(MissPolicy::kDeferred);

  const Plan* const plan = server.Call(problem_);
  EXPECT_EQ(server.Call(problem_), plan);

  EXPECT_EQ(plan->failure().code(), StatusCode::kUnsupported);
  EXPECT_EQ(server->counters().failures, 1U);
  EXPECT_EQ(server->counters().hits, 1U);
  EXPECT_EQ(server.tunings(), 0);
}

TEST_F(PlanServerTest, ARefreshMakesAPlanWhereThereWasNone) {
  std::atomic<bool> applies{false};
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->applies = [&](const Gemm&) { return applies ? Status::Ok() : Unsupported("No."); };
  }
  TestServer server = Server(MissPolicy::kNever);
  server.Call(problem_);
  applies = true;

  server->Refresh();
  ASSERT_TRUE(server.WaitIdle());

  EXPECT_TRUE(server.Call(problem_)->failure().ok());
}

TEST_F(PlanServerTest, TheLimitOfACallIsRespectedByWhatIsSwappedIn) {
  machine_.slow->workspace_bytes = 100;
  TestServer server = Server(MissPolicy::kNever);

  server->FindOrMake(KeyOfTest(problem_), problem_, 50);
  ASSERT_TRUE(server.WaitIdle());

  const Plan* const plan = server->Find(KeyOfTest(problem_));
  EXPECT_EQ(plan->option().candidate.solver.name, "test.quick-gemm");
  EXPECT_LE(plan->workspace_bytes(), 50U);
}

}  // namespace
}  // namespace attune
