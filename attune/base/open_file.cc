#include "attune/base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace attune {
namespace {

using Info = struct stat;

std::optional<Info> InfoOf(const char* path, int flags) {
  Info info{};
  const int failed = (flags & O_NOFOLLOW) != 0 ? ::lstat(path, &info) : ::stat(path, &info);
  return failed == 0 ? std::optional(info) : std::nullopt;
}

bool IsSame(const std::optional<Info>& one, const std::optional<Info>& other) {
  return one && other && one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

// True if `fd` is the file at `path`, which was `before`. Between open() and fstat() the program
// can close the descriptor and reuse its number for its own file. That gap can be long for a thread
// of low priority.
bool IsOpenedAt(const char* path, int flags, const std::optional<Info>& before,
                const UniqueFd& fd) {
  Info info{};
  if (::fstat(fd.get(), &info) != 0 || !fd.is_ours()) return false;
  const std::optional<Info> opened(info);
  const std::optional<Info> after = InfoOf(path, flags);
  if (IsSame(opened, before) || IsSame(opened, after)) return true;
  // It was replaced or deleted twice within this time, or its file system makes numbers up.
  const bool is_in_motion = !after || !IsSame(after, InfoOf(path, flags));
  return is_in_motion && !S_ISSOCK(info.st_mode);
}

}  // namespace

UniqueFd OpenFile(const std::filesystem::path& path, int flags, mode_t mode) {
  const std::optional<Info> before = InfoOf(path.c_str(), flags);
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd.valid()) return fd;
  if (IsOpenedAt(path.c_str(), flags, before, fd)) return AboveStandard(std::move(fd));
  (void)fd.Release();
  errno = EBADF;
  return UniqueFd();
}

}  // namespace attune
