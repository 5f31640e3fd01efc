// While an object lives, this thread and threads that it starts get only signals that they cause
// themselves. Other signals of a program are for its own threads; SIGSEGV and its like get through
// because a program may page memory in on them.
#pragma once

#include <signal.h>

#include <initializer_list>

namespace attune {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t others;
    ::sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
      ::sigdelset(&others, own);
    }
    ::pthread_sigmask(SIG_SETMASK, &others, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace attune
