// The results of calls, and the background work behind them, under each policy.
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string Explanation(attune_runtime* runtime, const std::string& problem) {
  char* json = nullptr;
  if (attune_explain(runtime, problem.c_str(), &json) != ATTUNE_OK) return attune_last_message();
  const std::string text = json;
  attune_free(json);
  return text;
}

TEST(Serving, AMissIsServedAtOnceTunedInAnotherProcessAndSwapped) {
  RuntimeWorld world;
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();
  const attune_counters at_once = CountersOf(runtime.get());
  ASSERT_TRUE(IsIdle(runtime.get()));
  ASSERT_TRUE(Multiply(runtime.get(), 16));

  EXPECT_EQ(at_once.by_provenance[ATTUNE_FROM_DEFAULT], 1u);
  const attune_counters later = CountersOf(runtime.get());
  EXPECT_EQ(later.tunings, 1u) << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  EXPECT_EQ(later.swaps, 1u);
  EXPECT_EQ(later.misses, 1u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
}

TEST(Serving, WhatOneProcessTunedServesTheNextOne) {
  RuntimeWorld world;
  auto first = CallerProcess("deferred", 16).Wait();
  auto second = CallerProcess("never", 16).Wait();

  EXPECT_EQ(first["default"], 1);
  EXPECT_EQ(first["tunings"], 1);
  // At once if the winner is a library; behind a stand-in, which may be the next best of the same
  // record, if its kernel has to be loaded first.
  EXPECT_GE(second["record"] + second["swaps"], 1);
  EXPECT_LE(second["swaps"], 1);
  EXPECT_EQ(second["tunings"], 0);
}

TEST(Serving, TheHostIsTunedBehindTheCallerToo) {
  RuntimeWorld world;
  world.Set("ATTUNE_DEVICE", "cpu");
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  ASSERT_TRUE(Multiply(runtime.get(), 24)) << attune_last_message();
  ASSERT_TRUE(IsIdle(runtime.get()));
  ASSERT_TRUE(Multiply(runtime.get(), 24));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u) << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  EXPECT_EQ(CountersOf(runtime.get()).builds_in_caller, 0u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
}

TEST(Serving, NeverDoesNothingBehindTheCaller) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 0u);
  EXPECT_FALSE(std::filesystem::exists(world.database()));
  EXPECT_TRUE(ProcessesCalled("attune-tuner", world.database()).empty());
}

TEST(Serving, RecordNotesTheProblemUnderItsTag) {
  RuntimeWorld world;
  world.Set("ATTUNE_RECORD_TAG", "mine");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_RECORD);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(Multiply(runtime.get(), 17));
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).recorded, 2u);
  EXPECT_EQ(ProblemsUnder(world.database(), "mine"), 2u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 0);
}

TEST(Serving, InlineTunesBeforeTheFirstCallReturns) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_INLINE);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16)) << attune_last_message();

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
  EXPECT_THAT(Explanation(runtime.get(), "gemm@1{m=16,n=16,k=16,align=4}"),
              HasSubstr("\"is_tuned\": true"));
}

TEST(Serving, EightProcessesThatMissOneShapeMeasureItOnce) {
  RuntimeWorld world;
  std::vector<std::unique_ptr<CallerProcess>> callers;
  for (int i = 0; i < 8; ++i) {
    callers.push_back(std::make_unique<CallerProcess>("deferred", 16));
  }

  for (auto& caller : callers) {
    auto counters = caller->Wait();
    EXPECT_EQ(counters["default"] + counters["record"], 1);
  }

  EXPECT_EQ(FinishedSetsIn(world.database()), 1);
}

TEST(Serving, ASpentBudgetLeavesTheRestToTheDefault) {
  RuntimeWorld world;
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = ATTUNE_DEFERRED;
  options.per_problem_ms = 200;
  options.tuning_budget_ms = 1;
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(options);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  for (const int64_t size : {16, 17, 18}) ASSERT_TRUE(Multiply(runtime.get(), size));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
  EXPECT_EQ(CountersOf(runtime.get()).tuning_failures, 2u);
  EXPECT_THAT(log.Message(ATTUNE_EVENT_TUNING_FAILED), HasSubstr("1 ms"));
}

TEST(Serving, RecordSaysAfterAWaitWhatIsNotInTheDatabase) {
  RuntimeWorld world;
  std::filesystem::create_directory(world.folder() / "folder");
  for (const auto& [database, reason] :
       {std::pair<std::string, const char*>("", "no database"),
        std::pair<std::string, const char*>((world.folder() / "folder").string(), "folder")}) {
    world.Set("ATTUNE_DB", database);
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_RECORD);
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    EXPECT_EQ(attune_wait_idle(runtime.get(), 60'000), ATTUNE_OK) << attune_last_message();

    ASSERT_TRUE(Multiply(runtime.get(), 16));

    const attune_code code = attune_wait_idle(runtime.get(), 60'000);
    EXPECT_NE(code, ATTUNE_OK);
    EXPECT_NE(code, ATTUNE_DEADLINE_EXCEEDED);
    EXPECT_THAT(attune_last_message(), HasSubstr(reason));
  }
}

TEST(Serving, AnUnknownForcedChoiceFailsBeforeTheFirstCall) {
  RuntimeWorld world;
  world.Set("ATTUNE_FORCE", "fake.nothing");

  EXPECT_EQ(MakeRuntime(ATTUNE_NEVER), nullptr);

  EXPECT_THAT(attune_last_message(), HasSubstr("fake.nothing"));
}

TEST(Serving, AForcedChoiceServesAndIsNotTuned) {
  RuntimeWorld world;
  world.Set("ATTUNE_FORCE", "fake.reference");
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).by_provenance[ATTUNE_FROM_FORCE], 1u);
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 0u);
}

TEST(Serving, TheSummaryIsOneLineOnRequest) {
  RuntimeWorld world;
  MessageLog log;
  { const RuntimeHandle quiet = MakeRuntime(log.Options(ATTUNE_NEVER)); }
  EXPECT_THAT(log.lines(), testing::IsEmpty());

  world.Set("ATTUNE_SUMMARY", "1");
  {
    const RuntimeHandle runtime = MakeRuntime(log.Options(ATTUNE_NEVER));
    ASSERT_TRUE(Multiply(runtime.get(), 16));
  }
  EXPECT_THAT(log.lines(),
              testing::ElementsAre(testing::StartsWith("attune: 0 hits, 1 misses (1 default)")));
}

// gtest's capture puts another file at descriptor 2, as a program does that closes it and opens a
// file of its own.
TEST(Serving, NothingIsWrittenToAnotherFileAtTheNumberOfStandardError) {
  RuntimeWorld world;
  world.Set("ATTUNE_SUMMARY", "1");
  world.Set("ATTUNE_DB", "/proc/no.db");
  testing::internal::CaptureStderr();
  {
    const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
    ASSERT_NE(runtime, nullptr) << attune_last_message();
    EXPECT_TRUE(Multiply(runtime.get(), 16));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Serving, RecordedProblemsAreInAFileBesideTheDatabaseUntilItIsOpened) {
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_RECORD);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  for (int64_t size = 1; size <= 200; ++size) ASSERT_TRUE(Multiply(runtime.get(), size));
  attune_flush_records(runtime.get());

  EXPECT_FALSE(std::filesystem::exists(world.database()));
  EXPECT_THAT(Explanation(runtime.get(), "gemm@1{m=16,n=16,k=16,align=4}"),
              HasSubstr(world.database() + ".spool-"));
  EXPECT_EQ(ProblemsUnder(world.database(), "recorded"), 200u);
  // Also while the program continues.
  ASSERT_TRUE(Multiply(runtime.get(), 201));
  runtime = nullptr;
  EXPECT_EQ(ProblemsUnder(world.database(), "recorded"), 201u);
}

TEST(Serving, AShapeThatWasCalledStallsNoMore) {
  RuntimeWorld world;
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.policy = ATTUNE_INLINE;
  options.per_problem_ms = 500;
  const RuntimeHandle runtime = MakeRuntime(options);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = 16;
  gemm.alignment_bytes = 4;
  char* text = nullptr;
  ASSERT_EQ(attune_gemm_text(&gemm, 1, 0, &text), ATTUNE_OK);
  const std::unique_ptr<char, decltype(&attune_free)> problem(text, attune_free);
  int stalls = -1;
  ASSERT_EQ(attune_would_stall(runtime.get(), text, &stalls), ATTUNE_OK);
  ASSERT_EQ(stalls, 1);
  const std::vector<float> ones(256, 1);
  std::vector<float> c(256);
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  arguments.a = arguments.b = ones.data();
  arguments.c = c.data();

  // Independent of whether the tuning finds a winner.
  world.Set("ATTUNE_TUNER", "/nowhere");
  ASSERT_EQ(attune_run_gemm(runtime.get(), &gemm, &arguments), ATTUNE_OK);

  EXPECT_EQ(attune_would_stall(runtime.get(), text, &stalls), ATTUNE_OK);
  EXPECT_EQ(stalls, 0) << attune_last_message();
}

TEST(Serving, AWaitMayBeAsLongAsANumberCanSay) {
  RuntimeWorld world;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();

  EXPECT_EQ(attune_wait_idle(runtime.get(), std::numeric_limits<int64_t>::max()), ATTUNE_OK);
}

}  // namespace
}  // namespace attune
