// Opens what the system tells about this process. Needs the C library alone.
#pragma once

#include <fcntl.h>

#include "attune/base/unique_fd.h"

namespace attune {

inline constexpr int kFirstAboveStandard = 3;

// Never through descriptors 0 to 2, which the program may have closed and expect to stay closed, or
// print to meanwhile. The reason of a failure is in errno.
inline UniqueFd OpenAboveStandard(const char* path, int flags) {
  UniqueFd fd(::open(path, flags | O_CLOEXEC));
  if (!fd.valid() || fd.get() >= kFirstAboveStandard) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstAboveStandard));
}

}  // namespace attune
