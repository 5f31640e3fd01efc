// The number of threads that the program allows its libraries, where it changes that while it runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace attune {

// The program's own setting while calls in flight replace it in a library that both use, less than
// 0 if it has set none; 0: no call does. One for the process, as the settings of those libraries
// are.
inline constinit std::atomic<int> replaced_thread_setting{0};

// Asks the program for its setting. Thread-safe if `ask` is.
struct ThreadLimit {
  int32_t (*ask)(void* context) = nullptr;  // Null: the program sets nothing.
  void* context = nullptr;

  // The number of threads that a call may use now; 0: no limit.
  int Now() const {
    if (ask == nullptr) return 0;
    const int replaced = replaced_thread_setting.load(std::memory_order_relaxed);
    const int now = replaced != 0 ? replaced : ask(context);
    return now > 0 ? now : 0;
  }
  bool Allows(int threads) const {
    if (threads <= 1 || ask == nullptr) return true;
    const int now = Now();
    return now == 0 || threads <= now;
  }
};

}  // namespace attune
