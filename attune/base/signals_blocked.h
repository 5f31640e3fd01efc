// No signal of others is delivered to this thread, nor to threads that it starts, while one of
// these lives: signals of a program are for its own threads. Threads get those that they cause
// themselves, because a program may page memory in on SIGSEGV.
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
