#include "attune/spool/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/file_size_signal.h"
#include "attune/base/unix_time.h"

namespace attune {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr int kMaxNames = 64;

// Where a file system has no locks, an importer waits until a file has long been left alone.
bool HasNoLocks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

// Lets the lock go at once, whoever else has the file open: a process that was forked meanwhile.
class Unlock {
 public:
  explicit Unlock(int fd) : fd_(fd) {}
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;
  ~Unlock() { ::flock(fd_, LOCK_UN); }

 private:
  const int fd_;
};

// The number of bytes that were written, or -1 with errno set.
ssize_t WriteBoth(int fd, std::string_view first, std::string_view second) {
  iovec parts[] = {{const_cast<char*>(first.data()), first.size()},
                   {const_cast<char*>(second.data()), second.size()}};
  ssize_t written = 0;
  do {
    written = ::writev(fd, parts, 2);
  } while (written < 0 && errno == EINTR);
  return written;
}

}  // namespace

std::string RunOf(std::string_view name) {
  name = name.substr(0, name.find('.'));
  for (int i = 0; i < 3; ++i) {
    const size_t dash = name.find('-');
    if (dash == std::string_view::npos) return "";
    name.remove_prefix(dash + 1);
  }
  return std::string(name.substr(0, name.find('-')));
}

SpoolFile::SpoolFile(SpoolPlace place, SpoolHeader header, size_t max_bytes)
    : place_(std::move(place)), header_(std::move(header)), max_bytes_(max_bytes) {
  header_.database = place_.database.string();
  header_.process = ::getpid();
  header_.started_unix_ns = UnixNowNs();
  header_.program = program_invocation_short_name;
  user_ = ::geteuid();
  folder_ = SpoolFolderOf(place_.database, user_);
  head_ = Text(header_);
  base_name_ = fmt::format("{}-{}-{}-{}", header_.process, header_.started_unix_ns, RandomWord(),
                           header_.run);
  name_ = fmt::format("{}{}", base_name_, kSpoolSuffix);
}

void SpoolFile::NextName() {
  ++number_;
  name_ = fmt::format("{}-{}{}", base_name_, number_, kSpoolSuffix);
  is_torn_ = false;
}

Status SpoolFile::Refused(std::string_view why) const {
  return ResourceExhausted(fmt::format(
      "Cannot record problems in '{}': {}. Any attune command that opens the database imports "
      "them.",
      folder_.string(), why));
}

Status SpoolFile::Append(std::string_view lines) { return Write(lines, 0); }

Status SpoolFile::Write(std::string_view lines, size_t beyond) {
  if (user_ != ::geteuid()) {
    user_ = ::geteuid();
    folder_ = SpoolFolderOf(place_.database, user_);
    has_counted_files_ = false;
  }
  Status written = WriteInFolder(lines, beyond);
  // An importer removes an empty folder, perhaps between our opening it and the file.
  if (written.code() == StatusCode::kNotFound) written = WriteInFolder(lines, beyond);
  return written;
}

Status SpoolFile::WriteInFolder(std::string_view lines, size_t beyond) {
  ATTUNE_ASSIGN_OR_RETURN(const UniqueFd folder, OpenOwnSpoolFolder(folder_, place_.makes_folders));
  if (!has_counted_files_) {
    if (NamesIn(folder.get(), kSpoolSuffix, kMaxSpoolFiles).size() >= kMaxSpoolFiles) {
      return Refused(fmt::format("{} files wait there to be imported", kMaxSpoolFiles));
    }
    has_counted_files_ = true;
  }
  ATTUNE_ASSIGN_OR_RETURN(const UniqueFd file, OpenLocked(folder.get()));
  const Unlock unlock(file.get());
  return WriteLocked(file.get(), lines, beyond);
}

// A file that an importer holds, or has just removed, is left to it.
Result<UniqueFd> SpoolFile::OpenLocked(int folder) {
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    UniqueFd file = OpenIn(folder, name_.c_str(), O_WRONLY | O_APPEND | O_CREAT, kFileMode);
    if (!file.valid()) return SystemError("write recorded problems to", folder_);
    const bool is_locked =
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && HasNoLocks(errno));
    if (is_locked && IsSpoolOf(user_, file.get(), folder, name_.c_str())) return file;
    if (is_locked) ::flock(file.get(), LOCK_UN);
    NextName();
  }
  return Unavailable(fmt::format("Cannot write recorded problems to '{}': {} files are in use.",
                                 folder_.string(), kMaxNames));
}

Status SpoolFile::WriteLocked(int fd, std::string_view lines, size_t beyond) {
  const SignalHeld too_large(SIGXFSZ);
  struct stat before {};
  if (::fstat(fd, &before) != 0) return SystemError("look at", folder_);
  const auto size = static_cast<size_t>(before.st_size);
  if (size == 0) {
    is_torn_ = false;
    // Whatever the program's umask is.
    if (::fchmod(fd, kFileMode) != 0) return SystemError("write recorded problems to", folder_);
  }
  const std::string_view first = size == 0 ? std::string_view(head_) : is_torn_ ? "\n" : "";
  if (size + first.size() + lines.size() > max_bytes_ + beyond) {
    return Refused(
        fmt::format("{} bytes of this process wait there to be imported, which is the "
                    "limit",
                    size));
  }
  const ssize_t written = WriteBoth(fd, first, lines);
  if (written == static_cast<ssize_t>(first.size() + lines.size())) {
    is_torn_ = false;
    return Status::Ok();
  }
  const int error = written < 0 ? errno : ENOSPC;
  // What was begun is taken back; where even that fails, the next lines begin a line of their own.
  if (written > 0) is_torn_ = ::ftruncate(fd, before.st_size) != 0;
  errno = error;
  return SystemError("write recorded problems to", folder_);
}

}  // namespace attune
