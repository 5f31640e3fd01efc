// Redirects standard error of this process while libraries print to it.
#pragma once

#include "attune/base/unique_fd.h"

namespace attune {

// Compilers in libraries print to descriptor 2 (PoCL's clang: "1 warning generated."). While an
// object of this class lives, descriptor 2 is redirected for all threads and for new child
// processes. For attune's programs only, which print through a duplicate: in a library descriptor 2
// belongs to the host. Objects must nest.
class DivertedErrors {
 public:
  // Redirects to the file of `descriptor`, or to /dev/null if it is negative. Does nothing if the
  // process is out of descriptors.
  explicit DivertedErrors(int descriptor);
  ~DivertedErrors();
  DivertedErrors(const DivertedErrors&) = delete;
  DivertedErrors& operator=(const DivertedErrors&) = delete;

 private:
  UniqueFd before_;  // The original file.
};

}  // namespace attune
