// Keeps calls out of libraries that an exit of the process has taken apart.
#pragma once

#include <chrono>

namespace attune {

// exit() destroys the static objects of libraries while other threads of the program may compute,
// and before exit handlers that the program registered earlier. Calls of a library that needs such
// objects pass this gate, which is one for the process: an exit closes it, and waits for the calls
// that are inside. Thread-safe; passing it takes two atomic operations.
class ExitGate {
 public:
  // A call of such a library. May be nested.
  class Pass {
   public:
    Pass() : is_open_(Enter()) {}
    ~Pass() {
      if (is_open_) Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // False: an exit has begun, so the library must not be called.
    bool is_open() const { return is_open_; }

   private:
    const bool is_open_;
  };

  static bool IsClosed();
  // For good: a process does not come back from an exit.
  static void Close();
  // Waits at most `timeout` for the passes of all other threads to end. Returns false if they have
  // not ended. In the child of a fork() only passes of the thread that forked remain.
  static bool AwaitOthers(std::chrono::nanoseconds timeout);

 private:
  static bool Enter();
  static void Leave();
};

}  // namespace attune
