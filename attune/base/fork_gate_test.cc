#include "attune/base/fork_gate.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "attune/base/test_other_thread.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

// ThreadSanitizer calls the threads of the parent leaked ones of the child.
#if defined(__SANITIZE_THREAD__)
constexpr bool kForksBesideThreads = false;
#else
constexpr bool kForksBesideThreads = true;
#endif

// Returns the result of `body` in a forked child; -1 if the child died.
int InChild(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = -1;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

using GateOfAnotherThread = HeldByAnotherThread<ForkGate>;

// Global, because handlers of fork() have no context. Null: no thread waits for one.
std::latch* has_begun_to_fork = nullptr;

void NoteFork() {
  if (has_begun_to_fork != nullptr) has_begun_to_fork->count_down();
}

TEST(ForkGateTest, AChildFindsNothingLockedThatIsLetGoBeforeTheGateEnds) {
  if (!kForksBesideThreads) GTEST_SKIP() << "The sanitizer knows no fork beside threads.";
  // Registered behind those of the gate, and called before them.
  { const ForkGate first; }
  ASSERT_EQ(::pthread_atfork(NoteFork, nullptr, nullptr), 0);
  std::mutex of_a_library;
  for (int round = 0; round < 20; ++round) {
    std::latch is_inside(1);
    std::latch is_forking(1);
    has_begun_to_fork = &is_forking;
    std::thread other([&] {
      const ForkGate gate;
      const std::lock_guard<std::mutex> lock(of_a_library);
      is_inside.count_down();
      is_forking.wait();
    });
    is_inside.wait();

    EXPECT_EQ(InChild([&] { return of_a_library.try_lock() ? 0 : 1; }), 0);

    other.join();
  }
  has_begun_to_fork = nullptr;
}

TEST(ForkGateTest, AForkWaitsNoLongerThanItMay) {
  if (!kForksBesideThreads) GTEST_SKIP() << "The sanitizer knows no fork beside threads.";
  GateOfAnotherThread other;

  const auto begin = Clock::now();
  // A gate of the child's own does not wait for threads that the child lacks.
  EXPECT_EQ(InChild([] {
              const ForkGate gate;
              const auto begun = Clock::now();
              const int grandchild = InChild([] { return 0; });
              return grandchild == 0 && Clock::now() - begun < ForkGate::kLongestWait ? 0 : 1;
            }),
            0);
  EXPECT_GE(Clock::now() - begin, ForkGate::kLongestWait);
}

TEST(ForkGateTest, AThreadDoesNotWaitForItself) {
  const ForkGate gate;
  const ForkGate nested;

  const auto begin = Clock::now();
  EXPECT_EQ(InChild([] { return 0; }), 0);

  EXPECT_LT(Clock::now() - begin, ForkGate::kLongestWait);
}

TEST(ForkGateTest, TheGatesOfOthersAreAwaited) {
  GateOfAnotherThread other;
  const ForkGate mine;

  EXPECT_FALSE(ForkGate::AwaitOthers(std::chrono::milliseconds(1)));
  other.End();
  EXPECT_TRUE(ForkGate::AwaitOthers(std::chrono::seconds(10)));
}

TEST(ForkWatcherTest, ItIsCalledOnceBeforeAndAfterAFork) {
  int before = 0;
  int in_parent = 0;
  int in_child = 0;
  const auto make = [&] {
    return std::make_unique<ForkWatcher>(
        [&] { ++before; }, [&](bool is_child) { ++(is_child ? in_child : in_parent); });
  };
  const auto first = make();
  const auto second = make();
  make().reset();

  EXPECT_EQ(InChild([&] { return before == 2 && in_child == 2 && in_parent == 0 ? 0 : 1; }), 0);

  EXPECT_EQ(before, 2);
  EXPECT_EQ(in_parent, 2);
}

}  // namespace
}  // namespace attune
