#include "attune/base/exit_gate.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

namespace attune {
namespace {

// The gate does not open again, so each test closes that of a child. Exit code of `body`; -1 if
// the child died.
int WithGateOfItsOwn(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = -1;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(ExitGateTest, ItIsOpenUntilItIsClosed) {
  EXPECT_EQ(WithGateOfItsOwn([] {
              if (ExitGate::IsClosed() || !ExitGate::Pass().is_open()) return 1;
              ExitGate::Close();
              return ExitGate::IsClosed() && !ExitGate::Pass().is_open() ? 0 : 2;
            }),
            0);
}

TEST(ExitGateTest, PassesOfOtherThreadsAreAwaited) {
  EXPECT_EQ(WithGateOfItsOwn([] {
              std::latch is_inside(1);
              std::latch may_leave(1);
              std::thread other([&] {
                const ExitGate::Pass pass;
                is_inside.count_down();
                may_leave.wait();
              });
              is_inside.wait();
              ExitGate::Close();
              if (ExitGate::AwaitOthers(std::chrono::milliseconds(1))) return 1;
              may_leave.count_down();
              const bool left = ExitGate::AwaitOthers(std::chrono::seconds(10));
              other.join();
              return left ? 0 : 2;
            }),
            0);
}

TEST(ExitGateTest, AThreadDoesNotWaitForItself) {
  EXPECT_EQ(WithGateOfItsOwn([] {
              const ExitGate::Pass pass;
              const ExitGate::Pass nested;
              ExitGate::Close();
              if (ExitGate::Pass().is_open()) return 1;
              return ExitGate::AwaitOthers(std::chrono::nanoseconds(0)) ? 0 : 2;
            }),
            0);
}

TEST(ExitGateTest, AChildDoesNotWaitForThreadsOfItsParent) {
  std::latch is_inside(1);
  std::latch may_leave(1);
  std::thread other([&] {
    const ExitGate::Pass pass;
    is_inside.count_down();
    may_leave.wait();
  });
  is_inside.wait();

  EXPECT_EQ(
      WithGateOfItsOwn([] { return ExitGate::AwaitOthers(std::chrono::nanoseconds(0)) ? 0 : 1; }),
      0);
  EXPECT_FALSE(ExitGate::AwaitOthers(std::chrono::nanoseconds(0)));

  may_leave.count_down();
  other.join();
}

}  // namespace
}  // namespace attune
