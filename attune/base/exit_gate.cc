#include "attune/base/exit_gate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "attune/base/fork_gate.h"
#include "attune/base/loaded_object.h"
#include "attune/base/steady_time.h"

namespace attune {
namespace {

// Threads share the counters evenly, so that calls of different threads seldom write to the same
// cache line.
constexpr size_t kCounters = 16;
struct alignas(64) Counter {
  std::atomic<int> inside{0};
};
constinit std::array<Counter, kCounters> counters;
constinit std::atomic<size_t> threads_seen{0};
constinit std::atomic<bool> is_closed{false};
constinit std::atomic<int64_t> exit_deadline_ns{0};  // Steady clock; 0: no exit has begun.

// In the static TLS block, so that access costs no call.
[[gnu::tls_model("initial-exec")]] constinit thread_local Counter* counter_of_this_thread = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local int passes_of_this_thread = 0;

// The child has only the thread that forked.
void AfterForkInChild() {
  exit_deadline_ns.store(0);
  for (Counter& counter : counters) counter.inside.store(0);
  if (counter_of_this_thread != nullptr) {
    counter_of_this_thread->inside.store(passes_of_this_thread);
  }
}

// Never destroyed, because a fork() may come during the exit.
void WatchForks() {
  static const auto* const watcher = new ForkWatcher([] {},
                                                     [](bool is_child) {
                                                       if (is_child) AfterForkInChild();
                                                     });
  static_cast<void>(watcher);
}

Counter& CounterOfThisThread() {
  if (counter_of_this_thread == nullptr) [[unlikely]] {
    WatchForks();
    counter_of_this_thread = &counters[threads_seen.fetch_add(1) % kCounters];
  }
  return *counter_of_this_thread;
}

int PassesOfOthers() {
  int passes = -passes_of_this_thread;
  for (const Counter& counter : counters) passes += counter.inside.load();
  return passes;
}

}  // namespace

bool ExitGate::IsClosed() { return is_closed.load(); }

void ExitGate::Close() {
  WatchForks();
  is_closed.store(true);
  int64_t none = 0;
  exit_deadline_ns.compare_exchange_strong(
      none, SteadyNowNs() + kLongestExit / std::chrono::nanoseconds(1));
}

std::chrono::nanoseconds ExitGate::Left() {
  const int64_t deadline = exit_deadline_ns.load();
  if (deadline == 0) return kLongestExit;
  return std::chrono::nanoseconds(std::max<int64_t>(deadline - SteadyNowNs(), 0));
}

void ExitGate::Guard() {
  constexpr int kMostGuards = 1024;
  static std::atomic<uint64_t> loads_seen{0};
  static std::atomic<int> guards{0};
  const uint64_t loads = LoadedObject::CountLoads();
  if (loads_seen.exchange(loads) == loads || guards.fetch_add(1) >= kMostGuards) return;
  // The handler belongs to the library that contains this code, so dlclose() runs it, too.
  static_cast<void>(std::atexit([] {
    Close();
    static_cast<void>(ForkGate::AwaitOthers(Left()));
    static_cast<void>(AwaitOthers(Left()));
  }));
}

bool ExitGate::Enter() {
  // Either this sees that the gate is closed, or the closing thread sees this pass.
  CounterOfThisThread().inside.fetch_add(1);
  ++passes_of_this_thread;
  if (!is_closed.load()) [[likely]]
    return true;
  Leave();
  return false;
}

void ExitGate::Leave() {
  --passes_of_this_thread;
  CounterOfThisThread().inside.fetch_sub(1);
}

// Polls, so that Leave() does not have to wake a thread.
bool ExitGate::AwaitOthers(std::chrono::nanoseconds timeout) {
  constexpr std::chrono::microseconds kInterval{100};
  const int64_t deadline_ns = SteadyNowNs() + timeout.count();
  while (PassesOfOthers() > 0) {
    if (SteadyNowNs() >= deadline_ns) return false;
    std::this_thread::sleep_for(kInterval);
  }
  return true;
}

}  // namespace attune
