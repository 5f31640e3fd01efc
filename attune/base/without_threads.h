// For tests: processes that may not start threads.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune {

// Keeps attune from starting threads in this process. attune applies RLIMIT_NPROC to root, too,
// although the system exempts root.
inline void ForbidThreads() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NPROC, &none);
}

// True if `claim` holds in a child process, which may change its own state freely.
template <class Claim>
bool HoldsInChild(const Claim& claim) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(claim() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// True if `claim` holds in a child that may not start threads.
template <class Claim>
bool HoldsWithoutThreads(const Claim& claim) {
  return HoldsInChild([&] {
    ForbidThreads();
    return claim();
  });
}

}  // namespace attune
