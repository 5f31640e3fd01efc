#include "attune/base/guest_thread.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "attune/base/without_threads.h"

namespace attune {
namespace {

TEST(GuestThreadTest, RunsItsBodyAndIsJoined) {
  std::atomic<bool> has_run{false};
  GuestThread thread;

  ASSERT_TRUE(thread.Start([&] { has_run = true; }));
  thread.Join();

  EXPECT_TRUE(has_run);
  EXPECT_FALSE(thread.joinable());
}

TEST(GuestThreadTest, MayBeStartedAgain) {
  std::atomic<int> runs{0};
  GuestThread thread;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(thread.Start([&] { ++runs; }));
    thread.Join();
  }

  EXPECT_EQ(runs, 2);
}

TEST(GuestThreadTest, WhatItsBodyThrowsEndsTheThreadAlone) {
  GuestThread thread;

  ASSERT_TRUE(thread.Start([] { throw std::bad_alloc(); }));
  thread.Join();
}

TEST(GuestThreadTest, SignalsOfTheProgramAreNotForIt) {
  sigset_t blocked;
  GuestThread thread;

  ASSERT_TRUE(thread.Start([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }));
  thread.Join();

  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 1);
  EXPECT_EQ(::sigismember(&blocked, SIGXFSZ), 1);
  EXPECT_EQ(::sigismember(&blocked, SIGSEGV), 0);
}

TEST(GuestThreadTest, IsNotStartedWhereTheProgramNeedsTheLastThreads) {
  EXPECT_TRUE(HoldsWithoutThreads([] {
    GuestThread thread;
    return !thread.Start([] {}) && !thread.joinable() && !GuestThread::MayStart();
  }));
}

TEST(CheckThreadsTest, NothingMoreIsAlwaysThere) {
  EXPECT_TRUE(HoldsWithoutThreads([] { return CheckThreads(0).ok() && HasTeam(1); }));
}

TEST(CheckThreadsTest, IsRefusedUnderALimitAndSaysWhy) {
  EXPECT_TRUE(HoldsWithoutThreads([] {
    const Status status = CheckThreads(1);
    return status.code() == StatusCode::kResourceExhausted &&
           status.message().find("ulimit -u") != std::string::npos;
  }));
}

TEST(CheckThreadsTest, WhatWasPossibleIsExpectedForAMomentAndNotTrustedWithATeam) {
  ASSERT_TRUE(CheckThreads(2).ok());

  EXPECT_TRUE(HoldsWithoutThreads(
      [] { return ExpectThreads(2).ok() && !ExpectThreads(3).ok() && !HasTeam(2); }));
}

TEST(CheckThreadsTest, ATeamIsCheckedOnceForEachThread) {
  bool holds = false;
  std::thread([&] {
    holds = HasTeam(2) && HoldsWithoutThreads([] { return HasTeam(2) && !HasTeam(3); });
  }).join();

  EXPECT_TRUE(holds);
}

TEST(CheckThreadsTest, StacksThatVariablesMakeTooSmallAreRefused) {
  ::setenv("OMP_STACKSIZE", "64", 1);
  const Status small = CheckThreads(1);
  ::setenv("OMP_STACKSIZE", "4 M", 1);
  const Status large = CheckThreads(1);
  ::unsetenv("OMP_STACKSIZE");

  EXPECT_EQ(small.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(small.message().find("65536 bytes (OMP_STACKSIZE)"), std::string::npos)
      << small.message();
  EXPECT_TRUE(large.ok()) << large.message();
}

}  // namespace
}  // namespace attune
