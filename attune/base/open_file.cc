#include "attune/base/open_file.h"

#include <fcntl.h>

#include <cerrno>

namespace attune {

UniqueFd OpenFile(const std::filesystem::path& path, int flags, mode_t mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  return fd < 0 ? UniqueFd() : AboveStandard(UniqueFd(fd));
}

UniqueFd AboveStandard(UniqueFd fd) {
  constexpr int kFirst = 3;
  if (!fd.valid() || fd.get() >= kFirst) return fd;
  UniqueFd above(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirst));
  // Closing the other one may set errno.
  const int reason = errno;
  fd.Reset();
  errno = reason;
  return above;
}

}  // namespace attune
