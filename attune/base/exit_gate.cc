#include "attune/base/exit_gate.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "attune/base/fork_gate.h"
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
constinit std::atomic<int64_t> deadline_ns{0};  // Steady clock; 0: none yet.

// In the static TLS block, so that access costs no call.
[[gnu::tls_model("initial-exec")]] constinit thread_local Counter* counter_of_this_thread = nullptr;
[[gnu::tls_model("initial-exec")]] constinit thread_local int passes_of_this_thread = 0;

// The child has only the thread that forked.
void AfterForkInChild() {
  deadline_ns.store(0);
  for (Counter& counter : counters) counter.inside.store(0);
  if (counter_of_this_thread != nullptr) {
    counter_of_this_thread->inside.store(passes_of_this_thread);
  }
}

Counter& CounterOfThisThread() {
  if (counter_of_this_thread == nullptr) [[unlikely]] {
    static const int registered = ::pthread_atfork(nullptr, nullptr, AfterForkInChild);
    static_cast<void>(registered);
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
  is_closed.store(true);
  int64_t none = 0;
  deadline_ns.compare_exchange_strong(none,
                                      SteadyNowNs() + kLongestExit / std::chrono::nanoseconds(1));
}

std::chrono::nanoseconds ExitGate::Left() {
  const int64_t deadline = deadline_ns.load();
  if (deadline == 0) return kLongestExit;
  return std::chrono::nanoseconds(std::max<int64_t>(deadline - SteadyNowNs(), 0));
}

void ExitGate::Guard() {
  constexpr int kMostGuards = 1024;
  static std::atomic<int> guards{0};
  if (guards.fetch_add(1) >= kMostGuards) return;
  // Of this library: unloading it calls what it has registered.
  static_cast<void>(std::atexit([] {
    Close();
    static_cast<void>(ForkGate::AwaitOthers(Left()));
    static_cast<void>(AwaitOthers(Left()));
  }));
}

bool ExitGate::Enter() {
  // Either this sees that the gate is closed, or who closes it sees this pass.
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

// Looks again and again, so that leaving the gate wakes nobody.
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
