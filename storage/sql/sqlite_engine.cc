#include "storage/sql/sqlite_engine.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/never_destroyed.h"
#include "storage/sql/guest_vfs.h"
#include "storage/sql/migrations.h"
#include "storage/sql/table.h"

namespace attune::sql {
namespace {

namespace api = sqlite_api;

api::sqlite3* HandleOf(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

// Returns true if the database or its log has grown to the file size limit of this process. SQLite
// reports that as any I/O error, and its errno is gone by the time SOCI has thrown.
bool IsAtFileSizeLimit(const std::string& name) {
  constexpr uintmax_t kLargestWriteBytes = 1 << 17;
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const uintmax_t size_bytes = std::filesystem::file_size(name + suffix, error);
    if (!error && size_bytes + kLargestWriteBytes > limit.rlim_cur) return true;
  }
  return false;
}

// Returns the name for SQLite: a URI unless the file may be created. Escapes all but letters and
// slashes, because SOCI has no escape for a quote.
std::string FileName(const std::string& path, Access access) {
  if (access == Access::kWrite && path.find('"') == std::string::npos) return path;
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/';
    uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  if (access == Access::kWrite) return uri + "?mode=rwc";
  if (access == Access::kRead) return uri + "?mode=rw";
  if (access == Access::kGuest) return uri + fmt::format("?mode=ro&vfs={}", kGuestVfs);
  return uri + (access == Access::kReadOnly ? "?mode=ro" : "?mode=ro&immutable=1");
}

bool IsOutOfSpace(const std::string& name, int system_errno) {
  return system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG ||
         IsAtFileSizeLimit(name);
}

// SQLite's view of a failure.
struct SqliteFailure {
  int code = SQLITE_ERROR;  // Extended result code.
  int system_errno = 0;
  std::string message;
};

SqliteFailure LastFailure(const soci::sqlite3_soci_error& error, soci::session& session) {
  if (!session.is_connected()) return {error.result(), 0, error.get_error_message()};
  api::sqlite3* handle = HandleOf(session);
  const int extended = api::sqlite3_extended_errcode(handle);
  // The handle forgets the code when SOCI resets a statement before it throws.
  const bool is_remembered = (extended & 0xff) == (error.result() & 0xff);
  return {is_remembered ? extended : error.result(), api::sqlite3_system_errno(handle),
          is_remembered ? api::sqlite3_errmsg(handle) : error.get_error_message()};
}

Status IoFailure(const std::string& name, const SqliteFailure& failure) {
  if (failure.code == SQLITE_IOERR_SHORT_READ) {
    return DataLoss(fmt::format("Database '{}' is shorter than it should be.", name));
  }
  if (IsOutOfSpace(name, failure.system_errno)) {
    return ResourceExhausted(fmt::format(
        "No space to write to database '{}': the disk, the quota or the file size limit "
        "of the process is used up. Nothing of this transaction is kept; make space and "
        "run the same command again.",
        name));
  }
  return Unavailable(fmt::format("Reading or writing database '{}' failed: {} ({}).", name,
                                 failure.message, std::strerror(failure.system_errno)));
}

}  // namespace

SqliteEngine::SqliteEngine(std::string path, const ConnectionOptions& options, int& log_pages)
    : name_(std::move(path)), options_(options), log_pages_(log_pages) {}

const EngineTexts& SqliteEngine::texts() const {
  static const NeverDestroyed<EngineTexts> texts(EngineTexts{
      .tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
      // Not BEGIN: a transaction that reads first and then finds another writer could only fail.
      .begin_write = "BEGIN IMMEDIATE",
      .begin_read = {"BEGIN"},
      .lock_counter = "",
      .lock_schema = "",
      .resume = {},
      .unlock_schema = "",
      .mark = "",
      .is_marked = "",
      .now_us = "",
  });
  return *texts;
}

std::string SqliteEngine::InsertIfNewSql(const Table& table,
                                         std::string_view unique_columns) const {
  return fmt::format("{} ON CONFLICT ({}) DO NOTHING", table.insert_sql, unique_columns);
}

Status SqliteEngine::Open(Connection& connection) {
  if (name_.empty()) return InvalidArgument("Database path '' must not be empty.");
  if (options_.access == Access::kGuest) RegisterGuestVfs();
  try {
    connection.session().open(soci::sqlite3,
                              fmt::format("dbname=\"{}\"", FileName(name_, options_.access)));
  } catch (const soci::soci_error& error) {
    return Unavailable(
        fmt::format("Database '{}' cannot be opened: {}.", name_, error.get_error_message()));
  } catch (const std::exception& error) {
    return Internal(fmt::format("Database '{}' cannot be opened: {}.", name_, error.what()));
  }
  return Configure(connection);
}

EngineFailure SqliteEngine::Translated(soci::session& session, const std::exception& error,
                                       std::string_view sql) const {
  return {Meaning(session, error, sql), Fault::kFinal};
}

Status SqliteEngine::Meaning(soci::session& session, const std::exception& error,
                             std::string_view sql) const {
  const auto* sqlite_error = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
  if (sqlite_error == nullptr) {
    return Internal(fmt::format("Database '{}': {} (in: {})", name_, error.what(), sql));
  }
  const SqliteFailure failure = LastFailure(*sqlite_error, session);
  switch (failure.code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return Unavailable(fmt::format(
          "Database '{}' has been locked by another process for more than {} ms. Wait until it is "
          "done (`fuser {}` shows which one it is), or use another database.",
          name_, options_.busy_timeout.count(), name_));
    case SQLITE_FULL:
      return ResourceExhausted(fmt::format(
          "No space to write to database '{}'. Nothing of this transaction is kept; free space and "
          "run the same command again.",
          name_));
    case SQLITE_INTERRUPT:
      return Unavailable(fmt::format("Reading database '{}' was cancelled.", name_));
    case SQLITE_NOMEM:
      return ResourceExhausted(fmt::format("Out of memory while using database '{}'.", name_));
    case SQLITE_IOERR:
      return IoFailure(name_, failure);
    case SQLITE_NOTADB:
      return DataLoss(
          fmt::format("'{}' is not a database, or its first bytes are damaged. Move it away to "
                      "start a new one.",
                      name_));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return CannotOpen(failure.message);
    default:
      // The statements are fixed and tested, so the remaining cause is a damaged file:
      // SQLITE_CORRUPT, a table that is gone, an id that is taken.
      return DataLoss(fmt::format(
          "Database '{}' is damaged: {} (in: {}). `sqlite3 {} .recover` may save what is left.",
          name_, failure.message, sql, name_));
  }
}

Status SqliteEngine::Configure(Connection& connection) {
  soci::session& session = connection.session();
  api::sqlite3_busy_timeout(HandleOf(session), static_cast<int>(options_.busy_timeout.count()));
  if (options_.is_cancelled != nullptr) {
    constexpr int kInstructions = 1000;  // Some ten microseconds.
    api::sqlite3_progress_handler(
        HandleOf(session), kInstructions,
        [](void* flag) {
          return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed) ? 1
                                                                                              : 0;
        },
        const_cast<std::atomic<bool>*>(options_.is_cancelled));
  }
  if (options_.access == Access::kReadFile && ::stat(name_.c_str(), &opened_file_) != 0) {
    return CannotOpen(std::strerror(errno));
  }
  constexpr std::string_view kSettings[] = {
      // A commit is in the log when it returns, and on the disk after LogSync::Sync.
      "PRAGMA synchronous = NORMAL", "PRAGMA foreign_keys = ON", "PRAGMA trusted_schema = OFF",
      "PRAGMA cell_size_check = ON",  // Finds damage when a page is read, not when it is used.
      "PRAGMA cache_size = -32768",   // KiB.
  };
  if (options_.access == Access::kWrite) {
    ATTUNE_RETURN_IF_ERROR(UseLog(connection));
    // Replaces SQLite's own hook, which moves the log in the middle of a commit.
    api::sqlite3_wal_hook(
        HandleOf(session),
        [](void* pages, api::sqlite3*, const char*, int count) {
          *static_cast<int*>(pages) = count;
          return SQLITE_OK;
        },
        &log_pages_);
  } else {
    ATTUNE_RETURN_IF_ERROR(connection.Execute("PRAGMA query_only = ON"));
  }
  if (options_.access == Access::kGuest) {
    ATTUNE_RETURN_IF_ERROR(connection.Texts("PRAGMA locking_mode = EXCLUSIVE").status());
    ATTUNE_RETURN_IF_ERROR(connection.Execute("PRAGMA temp_store = MEMORY"));
  }
  for (const std::string_view setting : kSettings) {
    ATTUNE_RETURN_IF_ERROR(connection.Execute(std::string(setting)));
  }
  if (options_.max_size_bytes == 0) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const auto page_bytes, connection.Texts("PRAGMA page_size"));
  const int64_t pages = options_.max_size_bytes / std::stoll(page_bytes.front());
  return connection.Texts(fmt::format("PRAGMA max_page_count = {}", pages)).status();
}

Status SqliteEngine::UseLog(Connection& connection) const {
  ATTUNE_ASSIGN_OR_RETURN(const auto mode, connection.Texts("PRAGMA journal_mode = WAL"));
  if (mode == std::vector<std::string>{"wal"}) return Status::Ok();
  return Unavailable(fmt::format(
      "Database '{}' cannot use a write-ahead log (its journal mode is '{}'). Put it on a local "
      "file system.",
      name_, mode.empty() ? "unknown" : mode.front()));
}

Status SqliteEngine::CannotOpen(const std::string& reason) const {
  if (options_.access == Access::kWrite) {
    return Unavailable(fmt::format(
        "Database '{}' cannot be opened for writing: {}. Check the permissions of the file and of "
        "its folder.",
        name_, reason));
  }
  if (options_.access == Access::kReadOnly) {
    return Unavailable(fmt::format(
        "Database '{0}' cannot be read: {1}. Beside it lies '{0}-wal', left by a process that was "
        "killed or still writes, and bringing that in takes the right to write: run the same "
        "command once as the owner of the file.",
        name_, reason));
  }
  return Unavailable(
      fmt::format("Database '{}' cannot be read: {}. Check its permissions.", name_, reason));
}

Status SqliteEngine::CheckUnchanged() const {
  struct stat now {};
  if (::stat(name_.c_str(), &now) == 0 && now.st_ino == opened_file_.st_ino &&
      now.st_size == opened_file_.st_size && now.st_mtim.tv_sec == opened_file_.st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == opened_file_.st_mtim.tv_nsec) {
    return Status::Ok();
  }
  return Unavailable(fmt::format(
      "Database '{}' was changed by another process while it was read without the right to lock "
      "it. Run the same command again.",
      name_));
}

// SQLite keeps the text of each statement that made a table or an index, so a damaged definition
// shows. Tables and indexes of other programs are ignored.
Status SqliteEngine::CheckDefinitions(Connection& connection,
                                      std::span<const Migration> migrations) const {
  ATTUNE_ASSIGN_OR_RETURN(
      const auto found,
      connection.Texts("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"));
  for (const Migration& migration : migrations) {
    for (const std::string& statement : migration.statements) {
      if (std::find(found.begin(), found.end(), statement) != found.end()) continue;
      if (IsOfDroppedIndex(statement, migrations)) continue;
      return DataLoss(fmt::format(
          "Database '{}' lacks or has changed what this statement of migration {} made: {}",
          connection.name(), migration.version, statement));
    }
  }
  return Status::Ok();
}

}  // namespace attune::sql
