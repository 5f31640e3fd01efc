// Programs fork, and go on calling on both sides.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

// What `body` returned in a forked child; -1 if the child died or hung.
int InChild(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  int status = -1;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::yield();
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Fork, AChildServesWhatItsParentHadAndWhatItHadNot) {
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));

  const int child = InChild([&] {
    if (!Multiply(runtime.get(), 16)) return 1;
    if (!Multiply(runtime.get(), 17)) return 2;
    if (CountersOf(runtime.get()).misses != 1) return 3;
    runtime = nullptr;
    return 0;
  });

  EXPECT_EQ(child, 0);
  EXPECT_TRUE(Multiply(runtime.get(), 16));
}

TEST(Fork, AChildTunesForItself) {
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));
  ASSERT_TRUE(IsIdle(runtime.get()));

  const int child = InChild([&] {
    if (!Multiply(runtime.get(), 17) || !IsIdle(runtime.get())) return 1;
    const bool has_tuned = CountersOf(runtime.get()).tunings == 1;
    runtime = nullptr;
    return has_tuned ? 0 : 2;
  });

  EXPECT_EQ(child, 0);
  EXPECT_EQ(FinishedSetsIn(world.database()), 2);
}

TEST(Fork, AChildThatDestroysTheRunTimeLeavesItsParentsTunerAlone) {
  RuntimeWorld world("fake.tiled fault=slow_load delay_ms=500");
  RuntimeHandle runtime = MakeRuntime(ATTUNE_DEFERRED);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));

  const int child = InChild([&] {
    runtime = nullptr;
    return 0;
  });

  EXPECT_EQ(child, 0);
  ASSERT_TRUE(IsIdle(runtime.get()));
  EXPECT_EQ(CountersOf(runtime.get()).tunings, 1u);
}

TEST(Fork, LocksThatOtherThreadsHoldAtTheForkDoNotStopAChild) {
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    for (int64_t size = 1; !is_over.load(); size = size % 48 + 1) Multiply(runtime.get(), size);
  });

  int failures = 0;
  for (int64_t round = 0; round < 20; ++round) {
    failures += InChild([&] { return Multiply(runtime.get(), 60 + round) ? 0 : 1; }) == 0 ? 0 : 1;
  }

  is_over.store(true);
  other.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace attune
