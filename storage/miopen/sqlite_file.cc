#include "storage/miopen/sqlite_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "attune/base/file.h"
#include "attune/base/unique_fd.h"
#include "attune/formats/miopen/bzip2.h"
#include "attune/problem/text_error.h"

namespace attune::miopen {
namespace {

StatusCode CodeFor(int error) {
  switch (error & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:  // A statement of ours that the tables of the file do not take.
      return StatusCode::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kUnavailable;
  }
}

Status ErrorOf(sqlite3* database, int error) {
  return {CodeFor(error), fmt::format("SQLite says: {}.", sqlite3_errmsg(database))};
}

// Returns true if the header names a log (WAL) that does not exist: no process has the database
// open, and the file is complete. SQLite would create the log even for reading.
bool IsWholeWithoutLog(const std::filesystem::path& path) {
  constexpr std::streamoff kReadVersion = 19;  // Its offset in the header.
  std::ifstream file(path, std::ios::binary);
  file.seekg(kReadVersion);
  if (file.get() != 2) return false;
  std::filesystem::path log = path;
  log += "-wal";
  std::error_code ignored;
  return !std::filesystem::exists(log, ignored);
}

// A URI, in which all but letters and slashes is escaped.
std::string UnchangingName(const std::filesystem::path& path) {
  std::string uri = "file:";
  std::error_code ignored;  // A path that cannot be made absolute cannot be opened either.
  for (const char c : std::filesystem::absolute(path, ignored).string()) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

}  // namespace

SqliteStatement& SqliteStatement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(std::string_view text) {
  sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> SqliteStatement::Next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return ErrorOf(database_, result);
}

Status SqliteStatement::Run() {
  const int result = sqlite3_step(statement_.get());
  const Status status = result == SQLITE_DONE ? Status::Ok() : ErrorOf(database_, result);
  sqlite3_reset(statement_.get());
  bound_ = 0;
  return status;
}

std::optional<int64_t> SqliteStatement::Integer(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::string_view> SqliteStatement::Text(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_TEXT) return std::nullopt;
  const auto* const text = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return std::string_view(reinterpret_cast<const char*>(text), static_cast<size_t>(bytes));
}

std::optional<std::string_view> SqliteStatement::Blob(int column) const {
  if (sqlite3_column_type(statement_.get(), column) != SQLITE_BLOB) return std::nullopt;
  const auto* const blob = sqlite3_column_blob(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return std::string_view(static_cast<const char*>(blob), static_cast<size_t>(bytes));
}

Result<SqliteFile> SqliteFile::OpenToRead(const std::filesystem::path& path) {
  SqliteFile file(path);
  if (::access(path.c_str(), R_OK) != 0) return SystemError("read", path);
  // SQLite calls it a disk I/O error.
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return SystemError("read", path);
  }
  if (IsPacked(path)) {
    ATTUNE_RETURN_IF_ERROR(file.OpenUnpacked(path));
  } else if (IsWholeWithoutLog(path)) {
    ATTUNE_RETURN_IF_ERROR(file.Open(UnchangingName(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  } else {
    ATTUNE_RETURN_IF_ERROR(file.Open(path, SQLITE_OPEN_READONLY));
  }
  sqlite3_db_config(file.database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(file.database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // Reads the first page, which fails if the file is no database.
  if (Status status = file.Execute("PRAGMA schema_version"); !status.ok()) return status;
  if (Status status = file.CheckPages(); !status.ok()) return status;
  return file;
}

Result<SqliteFile> SqliteFile::Create(const std::filesystem::path& path) {
  SqliteFile file(path);
  std::filesystem::path temporary = path;
  temporary += fmt::format(".tmp.{}", ::getpid());
  {
    // SQLite would create the file with at most 0644 too, but would accept an existing one.
    const UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd.valid()) return SystemError("create", path);
  }
  file.temporary_ = temporary;
  ATTUNE_RETURN_IF_ERROR(file.Open(temporary, SQLITE_OPEN_READWRITE));
  // No other process sees the file before it is complete, so it needs no journal.
  ATTUNE_RETURN_IF_ERROR(file.Execute("PRAGMA journal_mode=OFF"));
  ATTUNE_RETURN_IF_ERROR(file.Execute("PRAGMA synchronous=OFF"));
  ATTUNE_RETURN_IF_ERROR(file.Execute("BEGIN"));
  return file;
}

SqliteFile::~SqliteFile() {
  database_.reset();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status SqliteFile::Open(const std::filesystem::path& path, int flags) {
  sqlite3* database = nullptr;
  const int error = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  if (error == SQLITE_OK) return Status::Ok();
  return Status(CodeFor(error),
                fmt::format("Cannot open '{}': {}.", path_.string(), sqlite3_errstr(error)));
}

Status SqliteFile::OpenUnpacked(const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(std::string content, ReadUnpacked(path, kLargestUnpackedBytes));
  unpacked_ = std::make_unique<std::string>(std::move(content));
  ATTUNE_RETURN_IF_ERROR(Open(":memory:", SQLITE_OPEN_READWRITE));
  // A database in memory cannot have a log, so SQLite refuses one whose header names a log. A
  // database packed without its log is complete.
  constexpr size_t kWriteVersion = 18;
  constexpr size_t kReadVersion = 19;
  if (unpacked_->size() > kReadVersion && (*unpacked_)[kReadVersion] == 2) {
    (*unpacked_)[kWriteVersion] = (*unpacked_)[kReadVersion] = 1;
  }
  const auto bytes = static_cast<sqlite3_int64>(unpacked_->size());
  const int error = sqlite3_deserialize(database_.get(), "main",
                                        reinterpret_cast<unsigned char*>(unpacked_->data()), bytes,
                                        bytes, SQLITE_DESERIALIZE_READONLY);
  if (error == SQLITE_OK) return Status::Ok();
  return Status(CodeFor(error), fmt::format("Cannot open '{}', unpacked: {}.", path_.string(),
                                            sqlite3_errstr(error)));
}

Result<SqliteStatement> SqliteFile::Prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int error = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()), 0,
                                       &statement, nullptr);
  if (error != SQLITE_OK) {
    return ErrorOf(database_.get(), error).WithContext(fmt::format("'{}'", path_.string()));
  }
  return SqliteStatement(database_.get(), statement);
}

Status SqliteFile::Execute(const std::string& sql) {
  const int error = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (error == SQLITE_OK) return Status::Ok();
  return ErrorOf(database_.get(), error).WithContext(fmt::format("'{}'", path_.string()));
}

Result<bool> SqliteFile::HasColumn(std::string_view table, std::string_view column) {
  ATTUNE_ASSIGN_OR_RETURN(SqliteStatement query,
                          Prepare("SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2"));
  return query.Bind(table).Bind(column).Next();
}

Status SqliteFile::CheckPages() {
  ATTUNE_ASSIGN_OR_RETURN(SqliteStatement check, Prepare("PRAGMA quick_check(1)"));
  ATTUNE_ASSIGN_OR_RETURN(const bool has_row, check.Next());
  const std::string found(has_row ? check.Text(0).value_or("") : "");
  if (found == "ok") return Status::Ok();
  return DataLoss(fmt::format("'{}' is damaged: {}.", path_.string(), Quoted(found)));
}

Status SqliteFile::CheckTable(std::string_view table, std::span<const std::string_view> columns) {
  {
    ATTUNE_ASSIGN_OR_RETURN(
        SqliteStatement query,
        // Virtual tables, which run code of their modules, have no page.
        Prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1"));
    ATTUNE_ASSIGN_OR_RETURN(const bool is_table, query.Bind(table).Next());
    if (!is_table) {
      return DataLoss(fmt::format("'{}' has no table '{}'.", path_.string(), table));
    }
  }
  for (const std::string_view column : columns) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_column, HasColumn(table, column));
    if (has_column) continue;
    return DataLoss(
        fmt::format("Table '{}' of '{}' has no column '{}'.", table, path_.string(), column));
  }
  return Status::Ok();
}

Status SqliteFile::Commit() {
  ATTUNE_RETURN_IF_ERROR(Execute("COMMIT"));
  database_.reset();
  {
    const UniqueFd fd(::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid() || ::fsync(fd.get()) != 0) return SystemError("sync", path_);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return SystemError("rename a temporary file to", path_);
  }
  temporary_.clear();
  return Status::Ok();
}

}  // namespace attune::miopen
