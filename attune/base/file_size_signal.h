// Writes beyond the limit on the size of files fail; they do not end the program.
#pragma once

#include <signal.h>

namespace attune {

// While it lives, a write of this thread beyond RLIMIT_FSIZE fails with EFBIG, and the SIGXFSZ that
// would end the program is dropped. For code that writes files of its own in somebody else's
// process. One that was pending before stays pending.
class FileSizeSignalHeld {
 public:
  FileSizeSignalHeld();
  ~FileSizeSignalHeld();
  FileSizeSignalHeld(const FileSizeSignalHeld&) = delete;
  FileSizeSignalHeld& operator=(const FileSizeSignalHeld&) = delete;

 private:
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace attune
