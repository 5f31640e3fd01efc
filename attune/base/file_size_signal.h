// Writes beyond the limit on the size of files, or to a pipe that nobody reads, fail; they do not
// end the program.
#pragma once

#include <signal.h>

namespace attune {

// While it lives, `signal` of this thread is blocked, and dropped at the end if it came meanwhile.
// For signals that a write of this thread causes: SIGXFSZ, SIGPIPE. One that was pending before
// stays pending.
class SignalHeld {
 public:
  explicit SignalHeld(int signal);
  SignalHeld(const SignalHeld&) = delete;
  SignalHeld& operator=(const SignalHeld&) = delete;
  ~SignalHeld();

 private:
  const int signal_;
  sigset_t before_;
  bool was_pending_ = false;
};

// While it lives, a write of this thread beyond RLIMIT_FSIZE fails with EFBIG, and the SIGXFSZ that
// would end the program is dropped. For code that writes files of its own in somebody else's
// process.
class FileSizeSignalHeld : private SignalHeld {
 public:
  FileSizeSignalHeld() : SignalHeld(SIGXFSZ) {}
};

}  // namespace attune
