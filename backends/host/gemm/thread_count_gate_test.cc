#include "backends/host/gemm/thread_count_gate.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/without_threads.h"

namespace attune::host {
namespace {

// The setting of a library, as C functions see it.
std::atomic<int> setting{0};
std::atomic<int> changes{0};
void Set(int threads) {
  setting = threads;
  ++changes;
}
int Get() { return setting; }

class ThreadCountGateTest : public testing::Test {
 protected:
  ThreadCountGateTest() {
    setting = 7;
    changes = 0;
  }
};

TEST_F(ThreadCountGateTest, TheSettingIsChangedOnlyWhenAnotherNumberIsWanted) {
  ThreadCountGate gate(&Set);
  for (int i = 0; i < 10; ++i) {
    const ThreadCountGate::Pass pass(gate, 2);
    EXPECT_EQ(setting, 2);
  }
  EXPECT_EQ(changes, 1);
  const ThreadCountGate::Pass pass(gate, 1);
  EXPECT_EQ(setting, 1);
  EXPECT_EQ(changes, 2);
}

TEST_F(ThreadCountGateTest, WhatOthersHadIsPutBackWhenTheLastOneLeaves) {
  ThreadCountGate gate(&Set, &Get);
  {
    const ThreadCountGate::Pass first(gate, 2);
    const ThreadCountGate::Pass second(gate, 2);
    EXPECT_EQ(setting, 2);
  }
  EXPECT_EQ(setting, 7);
  setting = 3;  // Its other user has changed its mind.
  { const ThreadCountGate::Pass pass(gate, 2); }
  EXPECT_EQ(setting, 3);
}

TEST_F(ThreadCountGateTest, WhatTheProgramSetsDuringACallStays) {
  ThreadCountGate gate(&Set, &Get);
  {
    const ThreadCountGate::Pass pass(gate, 2);
    setting = 5;
  }
  EXPECT_EQ(setting, 5);
  { const ThreadCountGate::Pass pass(gate, 2); }
  EXPECT_EQ(setting, 5);
}

TEST_F(ThreadCountGateTest, TheSettingOfTheProgramIsKnownDuringACall) {
  const ThreadLimit limit{[](void*) { return Get(); }, nullptr};
  ThreadCountGate gate(&Set, &Get);
  {
    const ThreadCountGate::Pass pass(gate, 2);
    EXPECT_EQ(limit.Now(), 7);
    EXPECT_TRUE(limit.Allows(7));
  }
  EXPECT_EQ(limit.Now(), 7);
  setting = 3;
  EXPECT_FALSE(limit.Allows(4));
}

TEST_F(ThreadCountGateTest, ThreadsWithManyWishesSeeTheirOwnAndAllGetThrough) {
  for (const ThreadCountGate::GetFunction& get :
       {ThreadCountGate::GetFunction(), ThreadCountGate::GetFunction(&Get)}) {
    ThreadCountGate gate(&Set, get);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 2000; ++i) {
          const int wanted = 1 + (t + i) % 3;
          const ThreadCountGate::Pass pass(gate, wanted);
          if (setting != wanted) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

// Handlers of fork() have no context.
std::latch* begun_to_fork = nullptr;

TEST_F(ThreadCountGateTest, AForkWaitsForCallsThatAreInside) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "The sanitizer knows no fork beside threads.";
#endif
  ThreadCountGate gate(&Set);
  std::latch is_inside(1);
  std::latch is_forking(1);
  begun_to_fork = &is_forking;
  // Registered later than the gate, and so called before it.
  ASSERT_EQ(::pthread_atfork(
                [] {
                  if (begun_to_fork != nullptr) begun_to_fork->count_down();
                },
                nullptr, nullptr),
            0);
  std::atomic<bool> has_left{false};
  std::thread other([&] {
    const ThreadCountGate::Pass pass(gate, 1);
    is_inside.count_down();
    is_forking.wait();
    has_left = true;
  });
  is_inside.wait();

  EXPECT_TRUE(HoldsInChild([&] {
    ::alarm(10);  // Another number waits until nothing is inside.
    const ThreadCountGate::Pass pass(gate, 2);
    return has_left && setting == 2;
  }));

  begun_to_fork = nullptr;
  other.join();
  const ThreadCountGate::Pass again(gate, 2);
  EXPECT_EQ(setting, 2);
}

}  // namespace
}  // namespace attune::host
