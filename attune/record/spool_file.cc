#include "attune/record/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/file_size_signal.h"
#include "attune/base/process_room.h"
#include "attune/base/unix_time.h"

namespace attune {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr int kMaxNames = 64;

// On a file system without locks, an importer waits until a file is long untouched.
bool HasNoLocks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

// Releases the lock at once, even if a process that was forked meanwhile has the file open.
class Unlock {
 public:
  explicit Unlock(int fd) : fd_(fd) {}
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;
  ~Unlock() { ::flock(fd_, LOCK_UN); }

 private:
  const int fd_;
};

// Returns the bytes written, or -1 with errno set.
ssize_t WriteBoth(int fd, std::string_view first, std::string_view second) {
  iovec parts[] = {{const_cast<char*>(first.data()), first.size()},
                   {const_cast<char*>(second.data()), second.size()}};
  ssize_t written = 0;
  do {
    written = ::writev(fd, parts, 2);
  } while (written < 0 && errno == EINTR);
  return written;
}

SpoolRefusal OfSystem(int error) { return {SpoolRefusal::Kind::kSystem, error}; }

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
  name_.reserve(base_name_.size() + kSpoolSuffix.size() + 16);
  name_.assign(base_name_).append(kSpoolSuffix);
}

// Stays within the reserved capacity of name_, so it allocates no memory.
void SpoolFile::NextName() {
  ++number_;
  name_.assign(base_name_).append(1, '-').append(fmt::format_int(number_).c_str());
  name_.append(kSpoolSuffix);
  is_torn_ = false;
}

const char* SpoolFile::Describe(const SpoolRefusal& refusal) {
  switch (refusal.kind) {
    case SpoolRefusal::Kind::kNone:
      return "";
    case SpoolRefusal::Kind::kSystem: {
      const char* reason = ::strerrordesc_np(static_cast<int>(refusal.value));
      return reason == nullptr ? "unknown error" : reason;
    }
    case SpoolRefusal::Kind::kFiles:
      return "too many files wait there to be imported";
    case SpoolRefusal::Kind::kBytes:
      return "too many bytes of this process wait there to be imported";
    case SpoolRefusal::Kind::kInUse:
      return "its files are in use";
  }
  return "";
}

Status SpoolFile::StatusOf(const SpoolRefusal& refusal) const {
  const auto refused = [this](const std::string& why) {
    return ResourceExhausted(fmt::format(
        "Cannot record problems in '{}': {}. Any attune command that opens the database imports "
        "them.",
        folder_.string(), why));
  };
  switch (refusal.kind) {
    case SpoolRefusal::Kind::kNone:
      return Status::Ok();
    case SpoolRefusal::Kind::kSystem:
      errno = static_cast<int>(refusal.value);
      return SystemError("write recorded problems to", folder_);
    case SpoolRefusal::Kind::kFiles:
      return refused(fmt::format("{} files wait there to be imported", kMaxSpoolFiles));
    case SpoolRefusal::Kind::kBytes:
      return refused(fmt::format(
          "{} bytes of this process wait there to be imported, which is the limit", refusal.value));
    case SpoolRefusal::Kind::kInUse:
      return Unavailable(fmt::format("Cannot write recorded problems to '{}': {} files are in use.",
                                     folder_.string(), kMaxNames));
  }
  return Status::Ok();
}

Status SpoolFile::Append(std::string_view lines) { return Write(lines, 0); }

SpoolRefusal SpoolFile::AppendAtOnce(std::string_view lines) {
  if (HasNewCallFilter()) return OfSystem(EPERM);  // Opening a file may end the process.
  if (user_ != ::geteuid()) return OfSystem(EPERM);
  return TryWrite(lines, 0);
}

Status SpoolFile::Write(std::string_view lines, size_t beyond) {
  if (HasNewCallFilter()) return StatusOf(OfSystem(EPERM));
  if (user_ != ::geteuid()) {
    user_ = ::geteuid();
    folder_ = SpoolFolderOf(place_.database, user_);
    has_counted_files_ = false;
  }
  // Creates parent folders, and returns a detailed error if it refuses the folder.
  ATTUNE_RETURN_IF_ERROR(OpenOwnSpoolFolder(folder_, place_.makes_folders).status());
  return StatusOf(TryWrite(lines, beyond));
}

SpoolRefusal SpoolFile::TryWrite(std::string_view lines, size_t beyond) {
  SpoolRefusal refusal;
  // An importer may remove an empty folder before the file is created.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const UniqueFd folder = OpenOwnSpoolFolderAtOnce(folder_);
    if (!folder.valid()) return OfSystem(errno);
    if (!has_counted_files_ &&
        CountNamesIn(folder.get(), kSpoolSuffix, kMaxSpoolFiles) >= kMaxSpoolFiles) {
      return {SpoolRefusal::Kind::kFiles, 0};
    }
    has_counted_files_ = true;
    refusal = {};
    const UniqueFd file = OpenLocked(folder.get(), refusal);
    if (file.valid()) {
      const Unlock unlock(file.get());
      return WriteLocked(file.get(), lines, beyond);
    }
    if (refusal.kind != SpoolRefusal::Kind::kSystem || refusal.value != ENOENT) break;
  }
  return refusal;
}

// Skips a file that an importer holds or has just removed.
UniqueFd SpoolFile::OpenLocked(int folder, SpoolRefusal& refusal) {
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    UniqueFd file = OpenIn(folder, name_.c_str(), O_WRONLY | O_APPEND | O_CREAT, kFileMode);
    if (!file.valid()) {
      refusal = OfSystem(errno);
      return file;
    }
    const bool is_locked =
        ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && HasNoLocks(errno));
    if (is_locked && IsSpoolOf(user_, file.get(), folder, name_.c_str())) return file;
    if (is_locked) ::flock(file.get(), LOCK_UN);
    NextName();
  }
  refusal = {SpoolRefusal::Kind::kInUse, 0};
  return UniqueFd();
}

SpoolRefusal SpoolFile::WriteLocked(int fd, std::string_view lines, size_t beyond) {
  const SignalHeld too_large(SIGXFSZ);
  struct stat before {};
  if (::fstat(fd, &before) != 0) return OfSystem(errno);
  const auto size = static_cast<size_t>(before.st_size);
  if (size == 0) {
    is_torn_ = false;
    // Independent of the umask of the program.
    if (::fchmod(fd, kFileMode) != 0) return OfSystem(errno);
  }
  const std::string_view first = size == 0 ? std::string_view(head_) : is_torn_ ? "\n" : "";
  if (size + first.size() + lines.size() > max_bytes_ + beyond) {
    return {SpoolRefusal::Kind::kBytes, before.st_size};
  }
  const ssize_t written = WriteBoth(fd, first, lines);
  if (written == static_cast<ssize_t>(first.size() + lines.size())) {
    is_torn_ = false;
    return {};
  }
  const int error = written < 0 ? errno : ENOSPC;
  // Undoes a partial write. If even that fails, the next lines begin on a new line.
  if (written > 0) is_torn_ = ::ftruncate(fd, before.st_size) != 0;
  return OfSystem(error);
}

}  // namespace attune
