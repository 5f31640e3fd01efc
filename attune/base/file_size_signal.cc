#include "attune/base/file_size_signal.h"

#include <cerrno>
#include <ctime>

namespace attune {
namespace {

sigset_t SetOf(int signal) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  return set;
}

bool IsPending(int signal) {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

}  // namespace

SignalHeld::SignalHeld(int signal) : signal_(signal) {
  const sigset_t set = SetOf(signal_);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  was_pending_ = IsPending(signal_);
}

SignalHeld::~SignalHeld() {
  const int kept = errno;
  const sigset_t set = SetOf(signal_);
  constexpr timespec kNoWait = {};
  // The signal goes to the thread that writes, so this takes it before any other code can.
  if (!was_pending_ && IsPending(signal_)) (void)::sigtimedwait(&set, nullptr, &kNoWait);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = kept;
}

}  // namespace attune
