#include "attune/base/diverted_errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace attune {

DivertedErrors::DivertedErrors(int descriptor) {
  UniqueFd nowhere;
  if (descriptor < 0) nowhere = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int to = descriptor < 0 ? nowhere.get() : descriptor;
  UniqueFd before(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  // Earlier output goes to the original file.
  (void)std::fflush(stderr);
  if (to >= 0 && before.valid() && ::dup2(to, STDERR_FILENO) >= 0) before_ = std::move(before);
}

DivertedErrors::~DivertedErrors() {
  if (!before_.valid()) return;
  (void)std::fflush(stderr);
  (void)::dup2(before_.get(), STDERR_FILENO);
}

}  // namespace attune
