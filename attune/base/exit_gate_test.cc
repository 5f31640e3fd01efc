#include "attune/base/exit_gate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "attune/base/test_other_thread.h"

namespace attune {
namespace {

using PassOfAnotherThread = HeldByAnotherThread<ExitGate::Pass>;

// The gate does not open again, so children close it.
void ExpectInChild(const std::function<bool()>& body) {
  EXPECT_EXIT(std::_Exit(body() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(ExitGateTest, ItIsOpenUntilItIsClosed) {
  ExpectInChild([] {
    const bool was_open = !ExitGate::IsClosed() && ExitGate::Pass().is_open();
    ExitGate::Close();
    return was_open && ExitGate::IsClosed() && !ExitGate::Pass().is_open();
  });
}

TEST(ExitGateTest, PassesOfOtherThreadsAreAwaited) {
  ExpectInChild([] {
    PassOfAnotherThread other;
    ExitGate::Close();
    const bool waits = !ExitGate::AwaitOthers(std::chrono::milliseconds(1));
    other.End();
    return waits && ExitGate::AwaitOthers(std::chrono::seconds(10));
  });
}

TEST(ExitGateTest, AThreadDoesNotWaitForItself) {
  ExpectInChild([] {
    const ExitGate::Pass pass;
    const ExitGate::Pass nested;
    ExitGate::Close();
    return !ExitGate::Pass().is_open() && ExitGate::AwaitOthers(std::chrono::nanoseconds(0));
  });
}

TEST(ExitGateTest, AChildDoesNotWaitForThreadsOfItsParent) {
  PassOfAnotherThread other;

  ExpectInChild([] { return ExitGate::AwaitOthers(std::chrono::nanoseconds(0)); });
  EXPECT_FALSE(ExitGate::AwaitOthers(std::chrono::nanoseconds(0)));
}

TEST(ExitGateTest, TheWaitsOfAnExitShareTheirTimeAndAChildHasItsOwn) {
  ExpectInChild([] {
    ExitGate::Close();
    while (ExitGate::Left() > ExitGate::kLongestExit / 2) std::this_thread::yield();
    ExitGate::Close();
    if (ExitGate::Left() > ExitGate::kLongestExit / 2) return false;
    const pid_t child = ::fork();
    if (child == 0) {
      ExitGate::Close();
      std::_Exit(ExitGate::Left() > ExitGate::kLongestExit / 2 ? 0 : 1);
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && status == 0;
  });
}

}  // namespace
}  // namespace attune
