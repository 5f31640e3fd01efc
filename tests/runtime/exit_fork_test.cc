// A program exits while another thread of it forks.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "attune/base/fork_gate.h"
#include "runtime/stop_at_exit.h"
#include "tests/runtime/forked_child.h"

namespace attune {
namespace {

// Longer than a gate keeps a fork() waiting.
constexpr std::chrono::milliseconds kPatience = 3 * ForkGate::kLongestWait;

enum ExitCode { kForkWasOver = 0, kForkWaited = 1, kNobodyStopped = 2, kNoFork = 3 };

// Exits with a thread that forks as soon as the background is being stopped; `stop` waits for that.
[[noreturn]] void ExitBesideAFork() {
  auto& stopping = *new std::promise<void>;
  auto& forked = *new std::promise<void>;
  // Left behind, as programs leave runtimes.
  (void)new StopAtExit([&](std::chrono::nanoseconds) {
    stopping.set_value();
    const auto waited = forked.get_future().wait_for(kPatience);
    ::_exit(waited == std::future_status::ready ? kForkWasOver : kForkWaited);
  });
  std::thread([&] {
    stopping.get_future().wait();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    if (child < 0) ::_exit(kNoFork);
    (void)::waitpid(child, nullptr, 0);
    forked.set_value();
  }).detach();
  std::exit(kNobodyStopped);
}

TEST(ExitFork, AForkDoesNotWaitForTheBackgroundToStop) {
  const int child = InChild([]() -> int { ExitBesideAFork(); });

  EXPECT_EQ(child, kForkWasOver);
}

TEST(ExitFork, WhoIsDestroyedWaitsForItsStop) {
  const int child = InChild([]() -> int {
    static bool has_stopped = false;
    auto& stopping = *new std::promise<void>;
    auto* const guard = new StopAtExit([&](std::chrono::nanoseconds) {
      stopping.set_value();
      // Time for the other thread to come to the destructor.
      std::this_thread::yield();
      has_stopped = true;
    });
    std::thread([&stopping, guard] {
      stopping.get_future().wait();
      delete guard;
      ::_exit(has_stopped ? 0 : 1);
    }).detach();
    std::exit(0);
  });

  EXPECT_EQ(child, 0);
}

}  // namespace
}  // namespace attune
