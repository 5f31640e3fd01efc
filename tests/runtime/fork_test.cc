// Programs fork, and go on calling on both sides.
#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "attune/tunable.h"
#include "tests/runtime/forked_child.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

TEST(Fork, AChildServesWhatItsParentHadAndWhatItHadNot) {
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_TRUE(Multiply(runtime.get(), 16));

  const int child = InChild([&] {
    if (!Multiply(runtime.get(), 16)) return 1;
    if (!Multiply(runtime.get(), 17)) return 2;
    if (CountersOf(runtime.get()).misses != 2) return 3;
    runtime = nullptr;
    return 0;
  });

  EXPECT_EQ(child, 0);
  EXPECT_TRUE(Multiply(runtime.get(), 16));
}

TEST(Fork, AChildHasTheSwitchesOfItsParentAndChangesItsOwn) {
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  ASSERT_EQ(attune_tunable_enable(runtime.get(), 1), ATTUNE_OK);
  ASSERT_EQ(attune_tunable_set_max_tuning_iterations(runtime.get(), 7), ATTUNE_OK);

  const int child = InChild([&] {
    if (attune_tunable_is_enabled(runtime.get()) != 1) return 1;
    if (attune_tunable_get_max_tuning_iterations(runtime.get()) != 7) return 2;
    if (attune_tunable_enable(runtime.get(), 0) != ATTUNE_OK) return 3;
    if (!Multiply(runtime.get(), 16)) return 4;
    return attune_tunable_is_enabled(runtime.get()) == 0 ? 0 : 5;
  });

  EXPECT_EQ(child, 0);
  EXPECT_EQ(attune_tunable_is_enabled(runtime.get()), 1);
}

TEST(Fork, SwitchesThatAnotherThreadChangesAtTheForkDoNotStopAChild) {
  if (!kAllocatesAfterFork) GTEST_SKIP() << "The sanitizer's allocator survives no such fork.";
  RuntimeWorld world;
  RuntimeHandle runtime = MakeRuntime(ATTUNE_NEVER);
  ASSERT_NE(runtime, nullptr) << attune_last_message();
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over.load()) (void)attune_tunable_set_max_tuning_iterations(runtime.get(), 7);
  });

  int failures = 0;
  for (int round = 0; round < 20; ++round) {
    const int child =
        InChild([&] { return attune_tunable_enable(runtime.get(), 1) == ATTUNE_OK ? 0 : 1; });
    failures += child == 0 ? 0 : 1;
  }

  is_over.store(true);
  other.join();
  EXPECT_EQ(failures, 0);
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
  if (!kAllocatesAfterFork) GTEST_SKIP() << "The sanitizer's allocator survives no such fork.";
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
