// Keeps descriptors out of 0 to 2, which a program may have closed: its output would land in the
// file. Needs the C library alone.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>

#include <utility>

#include "attune/base/unique_fd.h"

namespace attune {

inline constexpr int kFirstAboveStandard = 3;

// Returns `fd`, or a duplicate above 2 in its place. Invalid with the reason in errno.
inline UniqueFd AboveStandard(UniqueFd fd) {
  if (!fd.valid() || fd.get() >= kFirstAboveStandard) return fd;
  UniqueFd above(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstAboveStandard));
  const int reason = errno;  // Closing the other one may set it.
  fd.Reset();
  errno = reason;
  return above;
}

// open(2) with O_CLOEXEC, above 2. Invalid with the reason in errno.
inline UniqueFd OpenAboveStandard(const char* path, int flags, mode_t mode = 0) {
  return AboveStandard(UniqueFd(::open(path, flags | O_CLOEXEC, mode)));
}

}  // namespace attune
