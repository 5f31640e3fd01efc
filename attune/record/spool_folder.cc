#include "attune/record/spool_folder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/folder_names.h"
#include "attune/base/open_file.h"
#include "attune/base/unix_time.h"

namespace attune {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Separates the database name from the user ID.
constexpr std::string_view kFolderInfix = ".spool-";

// Restores owner permissions that the umask of the creating program removed. Uses a descriptor,
// because another user may have replaced the folder with a link.
void RestoreOwnerMode(const char* folder) {
  const UniqueFd fd =
      AboveStandard(UniqueFd(::open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid()) return;
  if ((info.st_mode & kFolderMode) == kFolderMode) return;
  char path[32];  // fchmod() rejects O_PATH descriptors.
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd.get());
  (void)::chmod(path, (info.st_mode & 07777) | kFolderMode);
}

bool MakeOneFolder(const char* folder) {
  if (::mkdir(folder, kFolderMode) != 0) return errno == EEXIST;
  RestoreOwnerMode(folder);
  return true;
}

Status MakeFolder(const std::filesystem::path& folder, bool with_parents) {
  if (MakeOneFolder(folder.c_str())) return Status::Ok();
  if (errno != ENOENT || !with_parents || !folder.has_relative_path()) {
    return SystemError("make folder", folder);
  }
  ATTUNE_RETURN_IF_ERROR(MakeFolder(folder.parent_path(), with_parents));
  return MakeFolder(folder, false);
}

// True if the effective user may record problems there.
bool IsOwn(const struct stat& info) {
  return info.st_uid == ::geteuid() && (info.st_mode & kOthersWrite) == 0;
}

// Why the effective user may not record problems there.
Status RefusedOwn(const std::filesystem::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return SystemError("look at folder", path);
  if (info.st_uid != ::geteuid()) {
    return FailedPrecondition(fmt::format(
        "Cannot record problems in '{}': it belongs to user {}, and this process is of user {}. "
        "Remove it, or name another database.",
        path.string(), info.st_uid, ::geteuid()));
  }
  return FailedPrecondition(
      fmt::format("Cannot record problems in '{0}': other users may write to it (mode {1:04o}). "
                  "'chmod 700 {0}' corrects that.",
                  path.string(), info.st_mode & 07777));
}

uid_t OwnerOf(const std::filesystem::path& database) {
  struct stat info {};
  return ::stat(database.c_str(), &info) == 0 ? info.st_uid : ::geteuid();
}

// True if the folder cannot be read, too.
bool MayHoldSpools(int parent, const char* name) {
  const UniqueFd folder = AboveStandard(UniqueFd(::openat(parent, name, kFolderFlags)));
  return !folder.valid() || CountNamesIn(folder.get(), kSpoolSuffix, 1) > 0;
}

std::string RefusedFolder(const std::filesystem::path& path, const struct stat& info,
                          uid_t database_owner) {
  std::string sentence = fmt::format(
      "Problems that were recorded in '{}' are not imported: the folder belongs to user {} and has "
      "mode {:04o}.",
      path.string(), info.st_uid, info.st_mode & 07777);
  const bool is_trusted = info.st_uid == ::geteuid() || info.st_uid == database_owner;
  if (!is_trusted) return sentence + " Any attune command of that user imports them.";
  if ((info.st_mode & kOthersWrite) == 0) return sentence + " This user may not read it.";
  return sentence +
         fmt::format(" Other users may write to it; 'chmod 700 {}' corrects that.", path.string());
}

}  // namespace

SpoolPlace SpoolPlaceOf(const std::filesystem::path& database, bool makes_folders) {
  std::error_code error;
  auto resolved = std::filesystem::weakly_canonical(database, error);
  return {error ? database : std::move(resolved), makes_folders};
}

std::filesystem::path SpoolFolderOf(const std::filesystem::path& database, uid_t user) {
  return fmt::format("{}{}{}", database.string(), kFolderInfix, user);
}

Result<UniqueFd> OpenOwnSpoolFolder(const SpoolPlace& place) {
  return OpenOwnSpoolFolder(SpoolFolderOf(place.database, ::geteuid()), place.makes_folders);
}

UniqueFd OpenOwnSpoolFolderAtOnce(const std::filesystem::path& path) {
  UniqueFd folder = OpenFile(path, kFolderFlags);
  if (!folder.valid() && errno == ENOENT && MakeOneFolder(path.c_str())) {
    folder = OpenFile(path, kFolderFlags);
  }
  struct stat info {};
  const bool lacks_mode = folder.valid() ? ::fstat(folder.get(), &info) == 0 &&
                                               (info.st_mode & kFolderMode) != kFolderMode
                                         : errno == EACCES;
  if (lacks_mode) {
    RestoreOwnerMode(path.c_str());
    folder = OpenFile(path, kFolderFlags);
  }
  if (!folder.valid() || (::fstat(folder.get(), &info) == 0 && IsOwn(info))) return folder;
  folder.Reset();
  errno = EPERM;
  return folder;
}

Result<UniqueFd> OpenOwnSpoolFolder(const std::filesystem::path& path, bool makes_folders) {
  UniqueFd folder = OpenOwnSpoolFolderAtOnce(path);
  if (folder.valid()) return folder;
  if (errno == ENOENT) {
    ATTUNE_RETURN_IF_ERROR(MakeFolder(path, makes_folders));
    folder = OpenOwnSpoolFolderAtOnce(path);
    if (folder.valid()) return folder;
  }
  if (errno != EPERM) return SystemError("open folder", path);
  return RefusedOwn(path);
}

std::vector<SpoolFolder> OpenSpoolFolders(const std::filesystem::path& database,
                                          std::string& refused) {
  std::vector<SpoolFolder> folders;
  const UniqueFd parent = OpenFile(database.parent_path(), O_RDONLY | O_DIRECTORY);
  if (!parent.valid()) return folders;
  const std::string prefix = database.filename().string() + std::string(kFolderInfix);
  const uid_t owner = OwnerOf(database);
  ForEachName(parent.get(), [&](std::string_view name) {
    constexpr size_t kMaxFolders = 256;
    if (!name.starts_with(prefix)) return true;
    const std::filesystem::path path = database.parent_path() / name;
    struct stat info {};
    const std::string text(name);
    if (::fstatat(parent.get(), text.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (!S_ISDIR(info.st_mode)) return true;
    const bool is_trusted = info.st_uid == ::geteuid() || info.st_uid == owner;
    UniqueFd fd = AboveStandard(
        UniqueFd(is_trusted ? ::openat(parent.get(), text.c_str(), kFolderFlags) : -1));
    // The folder may have been replaced since fstatat().
    const bool is_safe = fd.valid() && ::fstat(fd.get(), &info) == 0 &&
                         (info.st_uid == ::geteuid() || info.st_uid == owner) &&
                         (info.st_mode & kOthersWrite) == 0;
    if (is_safe) {
      folders.push_back({path, info.st_uid, std::move(fd)});
    } else if (refused.empty() && MayHoldSpools(parent.get(), text.c_str())) {
      refused = RefusedFolder(path, info, owner);
    }
    return folders.size() < kMaxFolders;
  });
  return folders;
}

size_t CountNamesIn(int folder, std::string_view suffix, size_t limit) {
  size_t count = 0;
  ForEachName(folder, [&](std::string_view name) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) ++count;
    return count < limit;
  });
  return count;
}

std::vector<std::string> NamesIn(int folder, std::string_view suffix, size_t limit) {
  std::vector<std::string> names;
  ForEachName(folder, [&](std::string_view name) {
    if (name.ends_with(suffix) && name.size() > suffix.size()) names.emplace_back(name);
    return names.size() < limit;
  });
  std::sort(names.begin(), names.end());
  return names;
}

UniqueFd OpenIn(int folder, const char* name, int flags, mode_t mode) {
  return AboveStandard(UniqueFd(
      ::openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode)));
}

bool IsSpoolOf(uid_t owner, int fd, int folder, const char* name) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && S_ISREG(open.st_mode) && open.st_uid == owner &&
         open.st_nlink == 1 && ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

std::string RandomWord() {
  uint64_t word = 0;
  // Falls back to the clock before the system has random numbers. Names are still unique: they are
  // created with O_EXCL or belong to one process.
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word) {
    word = static_cast<uint64_t>(UnixNowNs()) ^ (static_cast<uint64_t>(::getpid()) << 44);
  }
  return fmt::format("{:016x}", word);
}

}  // namespace attune
