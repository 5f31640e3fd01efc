#include "backends/host/threads/thread_pool.h"

#include <xmmintrin.h>

#include <atomic>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/on_one_core.h"
#include "attune/base/without_threads.h"

namespace attune::host {
namespace {

using ::testing::Each;
using ::testing::SizeIs;

TEST(ThreadPoolTest, EveryPartRunsExactlyOnceEvenWithMorePartsThanThreads) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> calls(17);

  pool.Run(17, [&](int part) { ++calls[part]; });

  for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
}

TEST(ThreadPoolTest, EveryPartTreatsDenormalsAsItsCallerDoes) {
  ThreadPool pool(3);
  volatile float denormal = std::numeric_limits<float>::denorm_min(), two = 2;
  const auto seen_by_each = [&] {
    std::vector<float> seen(3, -1);
    std::atomic<int> arrived{0};
    pool.Run(3, [&](int part) {
      seen[part] = denormal * two;
      ++arrived;
      while (arrived.load() < 3) std::this_thread::yield();
    });
    return seen;
  };
  const unsigned before = ::_mm_getcsr();
  constexpr unsigned kFlushToZero = 0x8040;

  ::_mm_setcsr(before | kFlushToZero);
  const std::vector<float> flushed = seen_by_each();
  ::_mm_setcsr(before & ~kFlushToZero);
  const std::vector<float> kept = seen_by_each();
  ::_mm_setcsr(before);

  EXPECT_THAT(flushed, Each(0.0f));
  EXPECT_THAT(kept, Each(2 * std::numeric_limits<float>::denorm_min()));
}

TEST(ThreadPoolTest, EveryPartHasAThreadOfItsOwn) {
  ThreadPool pool(4);
  std::vector<std::thread::id> ids(4);
  std::atomic<int> arrived{0};

  // No part returns before all have arrived, so one thread cannot serve two parts.
  pool.Run(4, [&](int part) {
    ids[part] = std::this_thread::get_id();
    ++arrived;
    while (arrived.load() < 4) std::this_thread::yield();
  });

  EXPECT_THAT(std::set<std::thread::id>(ids.begin(), ids.end()), SizeIs(4));
  EXPECT_EQ(ids[0], std::this_thread::get_id());
}

TEST(ThreadPoolTest, ResultsOfOneRunAreVisibleInTheNext) {
  ThreadPool pool(2);
  std::vector<int> values(2, 0);

  for (int round = 0; round < 2000; ++round) pool.Run(2, [&](int part) { values[1 - part] += 1; });

  EXPECT_THAT(values, Each(2000));
}

TEST(ThreadPoolTest, ARunInsideATaskIsDoneSerially) {
  ThreadPool pool(2);
  std::atomic<int> inner_calls{0};

  pool.Run(2, [&](int) { pool.Run(5, [&](int) { ++inner_calls; }); });

  EXPECT_EQ(inner_calls.load(), 10);
}

TEST(ThreadPoolTest, AfterAwaitSleepNoThreadPollsAndTheNextRunStillWorks) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};

  for (int round = 0; round < 20; ++round) {
    pool.Run(3, [&](int) { ++calls; });
    pool.AwaitSleep();
    EXPECT_TRUE(pool.IsAsleep());
  }

  EXPECT_EQ(calls.load(), 60);
}

TEST(ThreadPoolTest, WhatNoThreadHasBegunIsDoneByTheCaller) {
  // The pool's thread inherits the only core, which the caller gives away just when it waits.
  const OnOneCore pinned;
  int by_caller = 0;
  std::vector<std::atomic<int>> calls(2);
  {
    ThreadPool pool(2);
    const std::thread::id caller = std::this_thread::get_id();
    for (int round = 0; round < 1000; ++round) {
      pool.Run(2, [&](int part) {
        ++calls[part];
        if (part == 1 && std::this_thread::get_id() == caller) ++by_caller;
      });
    }
  }

  EXPECT_EQ(calls[0].load(), 1000);
  EXPECT_EQ(calls[1].load(), 1000);
  // The system may let the other thread in at any time, but not at most times.
  EXPECT_GT(by_caller, 500);
}

TEST(ThreadPoolTest, TwoThreadsMayRunAtTheSameTime) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  const auto many_runs = [&] {
    for (int i = 0; i < 500; ++i) pool.Run(2, [&](int) { ++calls; });
  };

  std::thread other(many_runs);
  many_runs();
  other.join();

  EXPECT_EQ(calls.load(), 2000);
}

TEST(ThreadPoolTest, WithoutThreadsTheCallerDoesEveryPart) {
  EXPECT_TRUE(HoldsWithoutThreads([] {
    std::vector<int> calls(7);
    {
      ThreadPool pool(3);
      for (int round = 0; round < 2; ++round) pool.Run(7, [&](int part) { ++calls[part]; });
      if (!pool.TakeShortage() || pool.TakeShortage()) return false;
    }
    return calls == std::vector<int>(7, 2);
  }));
}

TEST(ThreadPoolTest, ThreadsThatAreThereWorkOnWhereNoMoreCanBeStarted) {
  EXPECT_TRUE(HoldsInChild([] {
    ThreadPool pool(4);
    std::vector<std::atomic<int>> calls(4);
    pool.Run(2, [&](int part) { ++calls[part]; });
    if (pool.TakeShortage()) return false;
    ForbidThreads();
    pool.Run(4, [&](int part) { ++calls[part]; });
    return pool.TakeShortage() && calls[0] == 2 && calls[1] == 2 && calls[2] == 1 && calls[3] == 1;
  }));
}

}  // namespace
}  // namespace attune::host
