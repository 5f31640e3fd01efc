// SQLite files of other programs, read without trust or written whole. Private to this folder.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune::miopen {

// A prepared statement. Must be destroyed before its file.
class SqliteStatement {
 public:
  SqliteStatement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  // Binds values of the next run, from the first parameter on.
  SqliteStatement& Bind(int64_t value);
  SqliteStatement& Bind(std::string_view text);
  SqliteStatement& BindBlob(std::string_view bytes);

  // False after the last row. Invalidates views of the row before.
  Result<bool> Next();
  // Runs a statement without rows and makes it ready for new values.
  Status Run();

  // A value of the row by the type that it is stored with; nothing if the type differs.
  std::optional<int64_t> Integer(int column) const;
  std::optional<std::string_view> Text(int column) const;
  std::optional<std::string_view> Blob(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

class SqliteFile {
 public:
  // Nothing in the file is run: no function that a schema names, no view. kNotFound, kUnavailable;
  // kDataLoss for a file that is no SQLite database, or has pages that are damaged, missing or in
  // use twice: rows would be lost without a word, or come again without an end.
  static Result<SqliteFile> OpenToRead(const std::filesystem::path& path);
  // A file that bzip2 packed is unpacked into memory, up to kLargestUnpackedBytes.
  static constexpr size_t kLargestUnpackedBytes = size_t{4} << 30;
  // Creates a database that replaces the file at `path` with Commit().
  static Result<SqliteFile> Create(const std::filesystem::path& path);
  SqliteFile(SqliteFile&& other) noexcept = default;
  SqliteFile& operator=(SqliteFile&&) = delete;
  ~SqliteFile();

  Result<SqliteStatement> Prepare(std::string_view sql);
  Status Execute(const std::string& sql);

  // Ok if `table` is a plain table, neither a view nor virtual, with all of `columns`, none of them
  // generated; else kDataLoss.
  Status CheckTable(std::string_view table, std::span<const std::string_view> columns);
  // Returns true if `table` has a column of that name.
  Result<bool> HasColumn(std::string_view table, std::string_view column);

  // For a created database: syncs it and renames it to its path. Mode 0644 less the umask.
  Status Commit();

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  explicit SqliteFile(std::filesystem::path path) : path_(std::move(path)) {}
  Status Open(const std::filesystem::path& path, int flags);
  Status OpenUnpacked(const std::filesystem::path& path);
  Status CheckPages();

  std::filesystem::path path_;
  std::filesystem::path temporary_;        // For a created database, until it is committed.
  std::unique_ptr<std::string> unpacked_;  // database_ reads this if the file is packed.
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace attune::miopen
