#include "attune/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

// True if `path` must be written in place: a file renamed over a device would take the device away
// from all processes.
bool IsWrittenInPlace(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

Status WriteInPlace(const std::filesystem::path& path, std::string_view content) {
  UniqueFd fd = OpenFile(path, O_WRONLY);
  if (!fd.valid()) return SystemError("open", path);
  return WriteAll(fd.get(), content, path);
}

Status ReplaceFile(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary += fmt::format(".tmp.{}", ::getpid());
  {
    UniqueFd fd = OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    // Messages name `path`: users do not know the temporary file.
    if (!fd.valid()) return SystemError("create", path);
    Status status = WriteAll(fd.get(), content, path);
    if (status.ok() && ::fsync(fd.get()) != 0) status = SystemError("sync", path);
    if (!status.ok()) {
      ::unlink(temporary.c_str());
      return status;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const Status status = SystemError("rename a temporary file to", path);
    ::unlink(temporary.c_str());
    return status;
  }
  return Status::Ok();
}

}  // namespace

std::string FirstLine(const std::filesystem::path& path) {
  constexpr size_t kMostBytes = size_t{1} << 16;
  const Result<std::string> content = ReadFileAtOnce(path, kMostBytes);
  return content.ok() ? content->substr(0, content->find('\n')) : "";
}

bool IsNamed(int fd, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

std::filesystem::path WithoutTrailingSlash(std::filesystem::path path) {
  while (path.has_relative_path() && !path.has_filename()) path = path.parent_path();
  return path;
}

Status SystemError(std::string_view what, const std::filesystem::path& path) {
  const int error = errno;
  const std::string message =
      fmt::format("Cannot {} '{}': {}.", what, path.string(), strerror(error));
  if (error == ENOENT) return NotFound(message);
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  if (is_full) return ResourceExhausted(message);
  return Unavailable(message);
}

Status WriteAll(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

Result<std::string> ReadAll(int fd, const std::filesystem::path& path, size_t max_bytes) try {
  std::string content;
  constexpr size_t kChunkBytes = 1 << 16;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    content.reserve(std::min(static_cast<size_t>(info.st_size), max_bytes) + kChunkBytes);
  }
  for (;;) {
    const size_t old_size = content.size();
    content.resize(old_size + kChunkBytes);
    const ssize_t got = ::read(fd, content.data() + old_size, kChunkBytes);
    if (got < 0 && errno == EINTR) {
      content.resize(old_size);
      continue;
    }
    if (got < 0) return SystemError("read", path);
    content.resize(old_size + static_cast<size_t>(got));
    if (got == 0) return content;
    if (content.size() > max_bytes) {
      return ResourceExhausted(fmt::format("'{}' is longer than {} bytes, the most that is read.",
                                           path.string(), max_bytes));
    }
  }
} catch (const std::bad_alloc&) {
  return ResourceExhausted(
      fmt::format("There is no memory for the content of '{}'.", path.string()));
}

Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes) {
  const UniqueFd fd = OpenFile(path, O_RDONLY);
  if (!fd.valid()) return SystemError("open", path);
  return ReadAll(fd.get(), path, max_bytes);
}

Result<std::string> ReadFileAtOnce(const std::filesystem::path& path, size_t max_bytes) {
  const UniqueFd fd = OpenFile(path, O_RDONLY | O_NONBLOCK);
  if (!fd.valid()) return SystemError("open", path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return SystemError("examine", path);
  if (S_ISFIFO(info.st_mode)) {
    return InvalidArgument(fmt::format(
        "'{}' is a pipe, which may never have anything to read. Name a file.", path.string()));
  }
  constexpr unsigned kMemoryDevices = 1;  // Major number; minor 3 is /dev/null.
  constexpr unsigned kNull = 3;
  const bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(kMemoryDevices, kNull);
  if ((S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) && !is_null) {
    return InvalidArgument(
        fmt::format("'{}' is a device, which may never end. Name a file.", path.string()));
  }
  return ReadAll(fd.get(), path, max_bytes);
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content) {
  // As many as Linux follows.
  constexpr int kMaxLinks = 40;
  std::filesystem::path target = path;
  for (int links = 0; links < kMaxLinks; ++links) {
    // Links of /proc stand for open files, /dev/stdout for one: their texts are not always paths.
    const bool is_open_file = target.native().starts_with("/proc/");
    if (is_open_file || IsWrittenInPlace(target)) return WriteInPlace(target, content);
    std::error_code not_a_link;
    const auto next = std::filesystem::read_symlink(target, not_a_link);
    if (not_a_link) return ReplaceFile(target, content);
    target = target.parent_path() / next;
  }
  return InvalidArgument(fmt::format("Cannot write '{}': more than {} links lead on from it.",
                                     path.string(), kMaxLinks));
}

}  // namespace attune
