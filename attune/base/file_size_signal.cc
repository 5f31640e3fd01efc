#include "attune/base/file_size_signal.h"

#include <cerrno>
#include <ctime>

namespace attune {
namespace {

sigset_t FileSizeSignal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

bool IsPending() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

FileSizeSignalHeld::FileSizeSignalHeld() {
  const sigset_t signal = FileSizeSignal();
  ::pthread_sigmask(SIG_BLOCK, &signal, &before_);
  was_pending_ = IsPending();
}

FileSizeSignalHeld::~FileSizeSignalHeld() {
  const int kept = errno;
  const sigset_t signal = FileSizeSignal();
  constexpr timespec kNoWait = {};
  // It is sent to the thread that writes, so it is taken here before anybody else could have it.
  if (!was_pending_ && IsPending()) (void)::sigtimedwait(&signal, nullptr, &kNoWait);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = kept;
}

}  // namespace attune
