// Ends the background of run times that a program leaves behind when it exits.
#pragma once

#include <chrono>
#include <functional>

namespace attune {

// While one lives, `stop` is called when the process exits, or when the library that contains this
// code is unloaded, before static objects go that its threads may be using. ExitGate is closed
// before, and passes of other threads are awaited after. Not in a child after
// fork(), which has none of those threads. Nobody's fork() waits for a `stop`, which may be waiting
// for a thread that the fork() keeps from going on (ForkGate). Thread-safe.
class StopAtExit {
 public:
  // `stop` may run more than once. It must return within `left`, which all calls of an exit share
  // (ExitGate::Left). Between these calls the program runs its own exit code. `end`, if set,
  // runs once after the last call.
  using Stop = std::function<void(std::chrono::nanoseconds left)>;
  explicit StopAtExit(Stop stop, std::function<void()> end = nullptr);
  // Waits for a `stop` in progress.
  ~StopAtExit();
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;

  // Exit runs backwards, so what a library made later would go before `stop` is called. From here
  // on `stop` comes before everything that exists now, too, and so does ExitGate (Guard). Cheap,
  // and bounded: `stop` is renewed kMostRenewals times.
  static void Renew();
  static constexpr int kMostRenewals = 128;

 private:
  struct Entry;
  class Registry;
  static void StopAll();
};

}  // namespace attune
