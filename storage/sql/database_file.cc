#include "storage/sql/database_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/base/open_file.h"
#include "attune/base/unique_fd.h"
#include "attune/record/record.h"
#include "storage/sql/migrations.h"

namespace attune::sql {
namespace {

constexpr std::chrono::milliseconds kNoPatience{0};

Status FileFailure(std::string_view what, const std::filesystem::path& path, int error) {
  const std::string message =
      fmt::format("Cannot {} '{}': {}.", what, path.string(), std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) return ResourceExhausted(message);
  return Unavailable(message);
}

// A new name in a folder survives a crash of the machine only after this.
Status SyncFolder(const std::filesystem::path& folder) {
  const UniqueFd fd = OpenFile(folder, O_RDONLY | O_DIRECTORY);
  if (!fd.valid() || ::fsync(fd.get()) != 0) return FileFailure("sync folder", folder, errno);
  return Status::Ok();
}

Status CreateFolder(const std::filesystem::path& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) == 0) return Status::Ok();
  if (errno != ENOENT) return FileFailure("look at folder", folder, errno);
  ATTUNE_RETURN_IF_ERROR(CreateFolder(folder.parent_path()));
  constexpr mode_t kOwnerOnly = 0700;  // As the XDG base directory specification asks for.
  if (::mkdir(folder.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return FileFailure("create folder", folder, errno);
  }
  return SyncFolder(folder.parent_path());
}

// The nearest missing folder on the way to `folder`, itself included.
std::filesystem::path FirstMissing(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::filesystem::path missing = folder;
  while (missing.has_relative_path() && !std::filesystem::exists(missing.parent_path(), ignored)) {
    missing = missing.parent_path();
  }
  return missing;
}

Status CheckFolder(const std::filesystem::path& path) {
  struct stat info {};
  const std::filesystem::path folder = path.parent_path();
  if (::stat(folder.c_str(), &info) == 0) return Status::Ok();
  if (errno != ENOENT) return FileFailure("look at folder", folder, errno);
  return FailedPrecondition(
      fmt::format("Cannot make the database '{}': there is no folder '{}'. Correct the path, or "
                  "make the folder first.",
                  path.string(), FirstMissing(folder).string()));
}

// Suffixes of the files that SQLite puts beside a database.
constexpr std::array<std::string_view, 3> kSuffixes = {"-journal", "-wal", "-shm"};

// Removes the files that SQLite puts beside a database, then the database: as long as it exists,
// later processes find the rest (CreateIfMissing).
void RemoveDatabase(const std::filesystem::path& path) {
  for (const std::string_view suffix : kSuffixes) ::unlink(path.string().append(suffix).c_str());
  ::unlink(path.c_str());
}

// Separates the name of a database from the id of a new one under construction.
constexpr std::string_view kMakingInfix = ".new.";

// Returns true if `name` belongs to a database under construction for `base`: an id behind the
// infix, or a file that SQLite puts beside it.
bool IsBeingMade(std::string_view name, const std::string& base) {
  const std::string prefix = base + std::string(kMakingInfix);
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const std::string_view id = name.substr(0, name.find('-'));
  const std::string_view suffix = name.substr(id.size());
  return Fingerprint::FromHex(id).has_value() &&
         (suffix.empty() || std::ranges::find(kSuffixes, suffix) != kSuffixes.end());
}

// Keeps other processes from making a database in `folder` as long as the result lives. Locks the
// folder itself, because a lock file would be left there. Invalid after `patience`, or where the
// file system has no locks.
UniqueFd LockFolder(const std::filesystem::path& folder, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPoll{1};
  UniqueFd fd = OpenFile(folder, O_RDONLY | O_DIRECTORY);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() >= deadline) return UniqueFd();
    std::this_thread::sleep_for(kPoll);
  }
  return fd;
}

// Removes the files of processes that were killed while they made the database `path`. REQUIRES: no
// process makes it now.
void RemoveLeftOver(const std::filesystem::path& path) {
  std::error_code ignored;
  std::vector<std::filesystem::path> left;
  for (std::filesystem::directory_iterator each(path.parent_path(), ignored), end;
       !ignored && each != end; each.increment(ignored)) {
    if (IsBeingMade(each->path().filename().string(), path.filename().string())) {
      left.push_back(each->path());
    }
  }
  // The same order as in RemoveDatabase().
  std::ranges::sort(left, std::greater());
  for (const std::filesystem::path& file : left) ::unlink(file.c_str());
}

// Gives the complete database `made` its name, unless the name is taken.
Status Publish(const std::filesystem::path& made, const std::filesystem::path& path) {
  if (::link(made.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    return FileFailure("create database", path, errno);
  }
  return SyncFolder(path.parent_path());
}

Status MakeTables(const std::filesystem::path& path, const ConnectionOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto connection, Connection::Open(path, options));
  ATTUNE_RETURN_IF_ERROR(Migrate(*connection, Migrations()));
  // Closing would do it, too, but would not report a full disk.
  return connection->EmptyLog();
}

// Makes a message about the internal name `made` refer to `path`, which the user knows.
Status Renamed(const Status& status, const std::string& made, const std::string& path) {
  std::string message = status.message();
  for (size_t at = 0; (at = message.find(made, at)) != std::string::npos; at += path.size()) {
    message.replace(at, made.size(), path);
  }
  return Status(status.code(), std::move(message));
}

// For the effective user; false also for a file system mounted read-only.
bool MayWrite(const std::filesystem::path& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

Status CheckWritable(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  if (MayWrite(folder)) return Status::Ok();
  const int reason = errno;
  return Unavailable(
      fmt::format("Cannot make the database '{}': the folder '{}' cannot be written: {}. Correct "
                  "its permissions, or name another database.",
                  path.string(), folder.string(), std::strerror(reason)));
}

// Like CheckWritable(), but makes a file without a name: to the superuser every folder seems
// writable, even those of /proc.
Status TryWriting(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  const UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) return Status::Ok();
  struct statfs system {};
  const bool has_none = errno == EOPNOTSUPP || errno == EISDIR;
  const bool keeps_files = ::statfs(folder.c_str(), &system) == 0 &&
                           system.f_type != PROC_SUPER_MAGIC && system.f_type != SYSFS_MAGIC;
  if (has_none && keeps_files) return CheckWritable(path);
  return FileFailure("make a database in", folder, errno);
}

Status IsEmpty(const std::filesystem::path& path) {
  return DataLoss(
      fmt::format("Database '{}' is empty (0 bytes), which no database ever is. Remove it to "
                  "start a new one.",
                  path.string()));
}

Result<int64_t> SizeOf(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return FileFailure("open database", path, errno);
  if (S_ISREG(info.st_mode)) return static_cast<int64_t>(info.st_size);
  return InvalidArgument(
      fmt::format("'{}' is no regular file and cannot be a database.", path.string()));
}

// SQLite would wait for ever for a writer to a pipe.
Status CheckBeside(const std::filesystem::path& path) {
  for (const std::string_view suffix : kSuffixes) {
    const std::string beside = path.string().append(suffix);
    struct stat info {};
    if (::stat(beside.c_str(), &info) != 0 || S_ISREG(info.st_mode)) continue;
    return InvalidArgument(
        fmt::format("Cannot open database '{}': '{}' beside it is no regular file. Remove that, or "
                    "name another database.",
                    path.string(), beside));
  }
  return Status::Ok();
}

}  // namespace

bool NamesServer(std::string_view url_or_path) {
  return !url_or_path.starts_with("sqlite:") && url_or_path.find("://") != std::string_view::npos;
}

Result<std::filesystem::path> DatabasePath(const std::string& url_or_path) {
  std::string_view path = url_or_path;
  constexpr std::string_view kScheme = "sqlite:";
  if (path.starts_with(kScheme)) {
    path.remove_prefix(kScheme.size());
    if (path.starts_with("//")) path.remove_prefix(2);
  } else if (const size_t colon = path.find("://"); colon != std::string_view::npos) {
    return Unsupported(fmt::format(
        "This takes a database in a file (a path or sqlite:PATH), not one on a server ('{}').",
        path.substr(0, colon)));
  }
  if (path.empty()) return InvalidArgument("The path of the database is empty.");
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return FileFailure("find database", path, error.value());
  return absolute;
}

Status CreateIfMissing(const std::filesystem::path& path, const ConnectionOptions& options,
                       MissingFolder missing_folder) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    // A second name may be the temporary one, left by a process that was killed before it removed
    // that. A live process has the lock.
    if (info.st_nlink > 1) {
      const UniqueFd lock = LockFolder(path.parent_path(), kNoPatience);
      if (lock.valid()) RemoveLeftOver(path);
    }
    return Status::Ok();
  }
  if (errno != ENOENT) return FileFailure("open database", path, errno);
  ATTUNE_RETURN_IF_ERROR(missing_folder == MissingFolder::kCreated
                             ? CreateFolder(path.parent_path())
                             : CheckFolder(path));
  ATTUNE_RETURN_IF_ERROR(CheckWritable(path));
  // With the lock, any database under construction was left by a killed process. Without a lock
  // nothing is removed.
  const UniqueFd lock = LockFolder(path.parent_path(), options.busy_timeout);
  if (lock.valid()) RemoveLeftOver(path);
  if (::stat(path.c_str(), &info) == 0) return Status::Ok();
  std::filesystem::path made = path;
  made += fmt::format("{}{}", kMakingInfix, NewSetId());
  Status status = MakeTables(made, options);
  if (status.ok()) status = Publish(made, path);
  RemoveDatabase(made);
  return status.ok() ? status : Renamed(status, made, path);
}

Status CheckMayBeDatabase(const std::filesystem::path& path, MissingFolder missing_folder) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return FileFailure("open database", path, errno);
    if (missing_folder == MissingFolder::kCreated) return TryWriting(FirstMissing(path));
    ATTUNE_RETURN_IF_ERROR(CheckFolder(path));
    return TryWriting(path);
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t size_bytes, SizeOf(path));
  if (size_bytes == 0) return IsEmpty(path);
  // Opening and closing the file here would drop the locks that SQLite may hold on it in this
  // process.
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0) return Status::Ok();
  return FileFailure("open database", path, errno);
}

namespace {

// A log of no bytes, which readers leave behind, holds no data.
bool HasLog(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat((path.string() + "-wal").c_str(), &info) == 0 && info.st_size > 0;
}

// The access that this process has to the database `path`: that of a writer if it has the right to
// write. kNotFound if there is no such file.
Result<Access> FindReadAccess(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return FileFailure("open database", path, errno);
    return NotFound(fmt::format("There is no database '{}'.", path.string()));
  }
  if (MayWrite(path) && MayWrite(path.parent_path())) return Access::kRead;
  return HasLog(path) ? Access::kReadOnly : Access::kReadFile;
}

}  // namespace

Result<std::unique_ptr<Connection>> OpenToRead(const std::filesystem::path& path,
                                               ConnectionOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(options.access, FindReadAccess(path));
  auto connection = OpenDatabase(path, options);
  const bool full = connection.status().code() == StatusCode::kResourceExhausted;
  if (!full || options.access != Access::kRead || HasLog(path)) return connection;
  // The index of a log takes space, even if the log is empty.
  options.access = Access::kReadFile;
  return OpenDatabase(path, options);
}

Result<std::unique_ptr<Connection>> OpenAsGuest(const std::filesystem::path& path,
                                                ConnectionOptions& options) {
  if (!GuestConnection().is_admitted()) return OpenToRead(path, options);
  ATTUNE_RETURN_IF_ERROR(FindReadAccess(path).status());
  options.access = Access::kGuest;
  return OpenDatabase(path, options);
}

Result<std::unique_ptr<Connection>> OpenDatabase(const DatabaseServer& server, Access access) {
  ATTUNE_ASSIGN_OR_RETURN(auto connection, Connection::Open(server.NewEngine()));
  ATTUNE_RETURN_IF_ERROR(access == Access::kWrite ? Migrate(*connection, Migrations())
                                                  : CheckReadable(*connection, Migrations()));
  return connection;
}

namespace {

// The version of the schema; 0 if there is none yet.
Result<size_t> VersionOf(Connection& connection) {
  ATTUNE_ASSIGN_OR_RETURN(const auto tables,
                          connection.Texts("SELECT name FROM sqlite_master WHERE type = 'table' "
                                           "AND name = 'migration'"));
  if (tables.empty()) return size_t{0};
  ATTUNE_ASSIGN_OR_RETURN(const auto versions, connection.Texts("SELECT version FROM migration"));
  return versions.size();
}

// Copies a database before its migration, unless a copy of that version exists.
Status KeepBackup(Connection& connection, const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(const size_t version, VersionOf(connection));
  if (version == 0 || version >= Migrations().size()) return Status::Ok();
  const std::string backup = fmt::format("{}.v{}", path.string(), version);
  std::error_code error;
  if (std::filesystem::exists(backup, error)) return Status::Ok();
  const std::string part = fmt::format("{}.part.{}", backup, ::getpid());
  std::string quoted = part;
  for (size_t at = 0; (at = quoted.find('\'', at)) != std::string::npos; at += 2) {
    quoted.insert(at, 1, '\'');
  }
  const Status copied = connection.Execute(fmt::format("VACUUM INTO '{}'", quoted));
  const auto mode = std::filesystem::status(path, error).permissions();
  if (copied.ok()) std::filesystem::permissions(part, mode, error);
  if (copied.ok() && !error) std::filesystem::rename(part, backup, error);
  if (copied.ok() && !error) return SyncFolder(path.parent_path());
  ::unlink(part.c_str());
  return Unavailable(fmt::format(
      "Database '{}' has schema version {} and was not brought to version {}, because its copy "
      "'{}' could not be made: {}. Make room or permission for it, or use another database.",
      path.string(), version, Migrations().size(), backup,
      copied.ok() ? error.message() : copied.message()));
}

}  // namespace

Result<std::unique_ptr<Connection>> OpenDatabase(const std::filesystem::path& path,
                                                 const ConnectionOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t size_bytes, SizeOf(path));
  if (size_bytes == 0) return IsEmpty(path);
  ATTUNE_RETURN_IF_ERROR(CheckBeside(path));
  ATTUNE_ASSIGN_OR_RETURN(auto connection, Connection::Open(path, options));
  if (options.access == Access::kWrite) ATTUNE_RETURN_IF_ERROR(KeepBackup(*connection, path));
  ATTUNE_RETURN_IF_ERROR(options.access == Access::kWrite
                             ? Migrate(*connection, Migrations())
                             : CheckReadable(*connection, Migrations()));
  return connection;
}

Status CheckPages(Connection& connection) {
  constexpr int kMaxFindings = 5;
  ATTUNE_ASSIGN_OR_RETURN(const auto findings, connection.Texts(fmt::format(
                                                   "PRAGMA integrity_check({})", kMaxFindings)));
  if (findings == std::vector<std::string>{"ok"}) return Status::Ok();
  return DataLoss(
      fmt::format("Database '{}' is damaged: {}. `sqlite3 {} .recover` may save what is "
                  "left.",
                  connection.name(), fmt::join(findings, "; "), connection.name()));
}

}  // namespace attune::sql
