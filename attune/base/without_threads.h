// For tests: a process that may start no thread.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune {

// Nothing of this process starts a thread any more. RLIMIT_NPROC counts for attune, also where the
// system exempts root.
inline void ForbidThreads() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NPROC, &none);
}

// Whether `claim` holds in a child, which may do to itself what it likes.
template <class Claim>
bool HoldsInChild(const Claim& claim) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(claim() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

// Whether `claim` holds in a child that may start no thread.
template <class Claim>
bool HoldsWithoutThreads(const Claim& claim) {
  return HoldsInChild([&] {
    ForbidThreads();
    return claim();
  });
}

}  // namespace attune
