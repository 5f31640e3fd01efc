// A tuner that dies, hangs, is missing or is in the way.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tuner_client.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Tuning under this script takes seconds, in which a test can do its worst.
constexpr const char* kSlowScript = "fake.tiled fault=slow_load delay_ms=3000";

// The tuner of the world's database, once it runs; -1 if none came within half a minute.
pid_t AwaitTuner(const RuntimeWorld& world, pid_t other_than = -1) {
  const auto give_up = Clock::now() + std::chrono::seconds(30);
  while (Clock::now() < give_up) {
    // The started process is our child and ends at once; it leaves the tuner behind. A process that
    // comes or goes between two looks is not taken for it.
    const std::vector<pid_t> running = ProcessesCalled("attune-tuner", world.database());
    const std::vector<pid_t> starters = ChildrenCalled("attune-tuner");
    const std::vector<pid_t> still_running = ProcessesCalled("attune-tuner", world.database());
    const auto has = [](const std::vector<pid_t>& pids, pid_t pid) {
      return std::find(pids.begin(), pids.end(), pid) != pids.end();
    };
    for (const pid_t pid : running) {
      if (pid != other_than && !has(starters, pid) && has(still_running, pid)) return pid;
    }
    std::this_thread::yield();
  }
  return -1;
}

std::filesystem::path Script(const RuntimeWorld& world, const std::string& body) {
  const auto path = world.folder() / "tuner.sh";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

Problem AnyProblem() { return *ParseProblem("gemm@1{m=16,n=16,k=16}"); }

TEST(TunerFaults, AfterAKilledTunerTheNextShapeGetsANewOne) {
  RuntimeWorld world(kSlowScript);
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());
  ASSERT_TRUE(Multiply(runtime.get(), 16));

  const pid_t first = AwaitTuner(world);
  ASSERT_GT(first, 0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(IsIdle(runtime.get()));
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  // It may have died before it was asked.
  EXPECT_THAT(log.Message(ATTUNE_EVENT_TUNING_FAILED),
              AnyOf(HasSubstr("ended before it answered"), HasSubstr("Cannot talk to the tuner")));

  ASSERT_TRUE(Multiply(runtime.get(), 17));
  const pid_t second = AwaitTuner(world, first);
  EXPECT_GT(second, 0);
  ASSERT_TRUE(IsIdle(runtime.get()));
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u) << log.Message(ATTUNE_EVENT_TUNING_FAILED);
  EXPECT_EQ(CountersOf(runtime.get()).tuning_failures, 1u);
}

TEST(TunerFaults, WithoutATunerTheDefaultServesAndTheReasonIsTold) {
  RuntimeWorld world;
  world.Set("ATTUNE_TUNER", (world.folder() / "no-such-program").string());
  EventLog log;
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  log.Listen(runtime.get());

  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  EXPECT_EQ(CountersOf(runtime.get()).tuning_failures, 1u);
  EXPECT_THAT(log.Message(ATTUNE_EVENT_TUNING_FAILED), HasSubstr("no-such-program"));
}

TEST(TunerFaults, ATunerThatIsNoProgramIsAFailureToStartIt) {
  RuntimeWorld world;
  const auto path = world.folder() / "text";
  std::ofstream(path) << "not a program";
  TunerClient client({path, world.database(), "fake"});

  const Status tuned = client.Tune({AnyProblem()});

  EXPECT_EQ(tuned.code(), StatusCode::kUnavailable);
  EXPECT_THAT(tuned.message(), HasSubstr(path.string()));
}

TEST(TunerFaults, ATunerThatHangsIsKilledWhenItsTimeIsUp) {
  RuntimeWorld world;
  TunerClientOptions options{Script(world, "exec sleep 1000"), world.database(), "fake"};
  options.per_problem_ms = 1;
  options.patience_ms = 200;
  TunerClient client(options);

  const auto begin = Clock::now();
  const Status tuned = client.Tune({AnyProblem()});

  EXPECT_EQ(tuned.code(), StatusCode::kDeadlineExceeded);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(10));
  // Not even a dead one is left to the program.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(TunerFaults, AnswersThatAreNoneAreFailures) {
  RuntimeWorld world;
  for (const char* body : {"read line; echo nonsense", "read line; echo '{\"outcome\":\"failed\"}'",
                           "read line; echo '[]'", "exit 0"}) {
    TunerClient client({Script(world, body), world.database(), "fake"});
    EXPECT_FALSE(client.Tune({AnyProblem()}).ok()) << body;
  }
}

TEST(TunerFaults, ARunTimeIsDestroyedInTheMiddleOfATuningWithinSeconds) {
  RuntimeWorld world(kSlowScript);
  RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_GT(AwaitTuner(world), 0);

  const auto begin = Clock::now();
  runtime = nullptr;

  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(ProcessesCalled("attune-tuner", world.database()).empty());
}

TEST(TunerFaults, AProgramThatWaitsForEveryChildIsNotHeldBackByATuner) {
  RuntimeWorld world(kSlowScript);
  const RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_GT(AwaitTuner(world), 0);

  const auto begin = Clock::now();
  while (::wait(nullptr) > 0) {
  }

  EXPECT_EQ(errno, ECHILD);
  // The tuner is in the middle of its three seconds.
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_FALSE(ProcessesCalled("attune-tuner", world.database()).empty());
  ASSERT_TRUE(IsIdle(runtime.get()));
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
}

TEST(TunerFaults, AProgramThatReapsOurChildDoesNotMakeUsKillAStranger) {
  RuntimeWorld world(kSlowScript);
  RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  // Its children are gone when they end, and cannot be waited for.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGCHLD, &ignore, &before), 0);
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  const pid_t tuner = AwaitTuner(world);
  ASSERT_GT(tuner, 0);

  ::kill(tuner, SIGKILL);
  ASSERT_TRUE(IsIdle(runtime.get()));
  EXPECT_TRUE(Multiply(runtime.get(), 16));
  runtime = nullptr;

  ::sigaction(SIGCHLD, &before, nullptr);
}

}  // namespace
}  // namespace attune
