// Lets writes beyond the file size limit, or to a pipe without a reader, fail instead of raising a
// signal that ends the program.
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
// would end the program is dropped. For code that writes its own files in a host process.
class FileSizeSignalHeld : private SignalHeld {
 public:
  FileSizeSignalHeld() : SignalHeld(SIGXFSZ) {}
};

}  // namespace attune
