// What a forked child comes to, for tests.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

namespace attune {

// Whether a child can allocate that was forked while other threads do. glibc takes care of its own
// allocator; that of GCC 12's AddressSanitizer leaves its locks to the child as another thread held
// them, and it waits for ever.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAllocatesAfterFork = false;
#else
inline constexpr bool kAllocatesAfterFork = true;
#endif

// What `body` returned in a forked child; -1 if the child died, or hung for `deadline`.
inline int InChild(const std::function<int()>& body,
                   std::chrono::seconds deadline = std::chrono::seconds(60)) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  const auto give_up = std::chrono::steady_clock::now() + deadline;
  int status = -1;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace attune
