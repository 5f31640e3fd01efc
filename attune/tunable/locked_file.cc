#include "attune/tunable/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/open_file.h"
#include "attune/base/steady_time.h"

namespace attune {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int64_t kRetryNs = kNsPerMs;

// Waits for the lock of an open file. kDeadlineExceeded at `deadline_ns`.
Status AwaitLock(int fd, const std::filesystem::path& path, int64_t deadline_ns) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return SystemError("lock", path);
    if (SteadyNowNs() >= deadline_ns) {
      return DeadlineExceeded(fmt::format(
          "Another process holds the lock of '{}' for too long; `fuser` names it.", path.string()));
    }
    const timespec pause{0, kRetryNs};
    ::nanosleep(&pause, nullptr);
  }
  return Status::Ok();
}

}  // namespace

Result<LockedFile> LockedFile::Open(const std::filesystem::path& path, int64_t timeout_ms) {
  const int64_t deadline_ns = SteadyNowNs() + timeout_ms * kNsPerMs;
  for (;;) {
    UniqueFd fd = OpenFile(path, O_RDWR | O_APPEND | O_CREAT, 0644);
    // A pipe or a terminal may be open for writing only.
    if (!fd.valid() && errno == EACCES) fd = OpenFile(path, O_WRONLY);
    if (!fd.valid()) return SystemError("open", path);
    LockedFile file(std::move(fd), path);
    struct stat opened = {};
    if (::fstat(file.fd_.get(), &opened) != 0) return SystemError("examine", path);
    file.is_regular_ = S_ISREG(opened.st_mode);
    file.inode_ = opened.st_ino;
    if (!file.is_regular_) return file;
    ATTUNE_RETURN_IF_ERROR(AwaitLock(file.fd_.get(), path, deadline_ns));
    // The previous holder of the lock may have replaced this file.
    struct stat named = {};
    if (::stat(path.c_str(), &named) == 0 && named.st_ino == opened.st_ino &&
        named.st_dev == opened.st_dev) {
      return file;
    }
  }
}

int64_t LockedFile::size_bytes() const {
  struct stat now = {};
  return is_regular_ && ::fstat(fd_.get(), &now) == 0 ? now.st_size : 0;
}

Result<std::string> LockedFile::Read() const {
  std::string content;
  if (!is_regular_) return content;
  const int64_t size = size_bytes();
  if (size > static_cast<int64_t>(kLargestFileBytes)) {
    return ResourceExhausted(fmt::format("'{}' has {} bytes, more than the {} that are read.",
                                         path_.string(), size, kLargestFileBytes));
  }
  content.resize(static_cast<size_t>(size));
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got =
        ::pread(fd_.get(), content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path_);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

Status LockedFile::WriteAtEnd(std::string_view bytes, int64_t old_size) {
  const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
  if (written == static_cast<ssize_t>(bytes.size())) return Status::Ok();
  // A short write happens on a full disk only; half a line is useless.
  if (written >= 0) errno = ENOSPC;
  const Status status = SystemError("append to", path_);
  if (is_regular_ && ::ftruncate(fd_.get(), old_size) != 0) {
    return status.WithContext("The file ends in half a line");
  }
  return status;
}

Status LockedFile::Append(std::string_view lines, Durability durability) {
  const int64_t old_size = size_bytes();
  char last = '\n';
  if (old_size > 0 && ::pread(fd_.get(), &last, 1, old_size - 1) != 1) {
    return SystemError("read the end of", path_);
  }
  std::string bytes(last == '\n' ? "" : "\n");
  bytes += lines;
  ATTUNE_RETURN_IF_ERROR(WriteAtEnd(bytes, old_size));
  if (durability == Durability::kPowerLoss && is_regular_ && ::fdatasync(fd_.get()) != 0) {
    return SystemError("sync", path_);
  }
  return Status::Ok();
}

Status LockedFile::Replace(std::string_view content) && {
  const Status status = WriteFileAtomically(path_, content);
  fd_.Reset();
  return status;
}

}  // namespace attune
