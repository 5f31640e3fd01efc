// Results of forked children, for tests.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

namespace attune {

// True if a child can allocate that was forked while other threads do. glibc takes care of its own
// allocator. GCC 12's AddressSanitizer leaves its locks to the child as another thread held them,
// and the child waits for ever.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAllocatesAfterFork = false;
#else
inline constexpr bool kAllocatesAfterFork = true;
#endif

// The result of `body` in a forked child; -1 if the child died, or hung for `deadline`: its own
// alarm ends it then.
inline int InChild(const std::function<int()>& body,
                   std::chrono::seconds deadline = std::chrono::seconds(60)) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGALRM, SIG_DFL);
    ::alarm(static_cast<unsigned>(deadline.count()));
    ::_exit(body());
  }
  int status = -1;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace attune
