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

  // Exit runs backwards: it destroys the static objects of a library before it calls handlers that
  // were registered before the library was loaded. From here on an exit closes the gate, and waits
  // for passes and ForkGates, before it destroys anything that exists now; dlclose() of the library
  // that contains this code does the same. Call it when a library that fails at exit was loaded.
  // Does nothing if no library was loaded since the last call, nor after 1024 libraries.
  static void Guard();
  // All waits of an exit share this time. Left() is the rest of it since Close().
  static constexpr std::chrono::milliseconds kLongestExit{400};
  static std::chrono::nanoseconds Left();

  // Waits at most `timeout` for the passes of all other threads to end. Returns false if they have
  // not ended. In the child of a fork() only passes of the thread that forked remain.
  static bool AwaitOthers(std::chrono::nanoseconds timeout);

 private:
  static bool Enter();
  static void Leave();
};

}  // namespace attune
