// The number of threads that a program allows its libraries. It can change while the program runs.
#pragma once

#include <atomic>
#include <cstdint>

namespace attune {

// While calls replace the program's setting in a library that both use: that setting, or less than
// 0 if the program has set none. Else 0. Global, because such a library has one setting for the
// process.
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
