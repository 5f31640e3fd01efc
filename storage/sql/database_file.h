// Paths of databases, and how a new one is created.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/database_server.h"

namespace attune::sql {

// Damage in indexes shows only by comparing them with their tables. In a database up to this size
// that takes a few tens of milliseconds and is done on every open.
inline constexpr int64_t kCheckedAtOpenBytes = int64_t{4} << 20;

// Returns true if `url_or_path` has a scheme other than SQLite's.
bool NamesServer(std::string_view url_or_path);

// The path in "PATH", "sqlite:PATH" or "sqlite://PATH". kUnsupported for another scheme.
Result<std::filesystem::path> DatabasePath(const std::string& url_or_path);

// Treatment of missing folders of a new database.
enum class MissingFolder { kCreated, kRefused };

// Creates the database `path` with all tables if there is no such file. It appears complete or not
// at all; one of a concurrent process stays unchanged. kFailedPrecondition for a missing folder
// with kRefused.
Status CreateIfMissing(const std::filesystem::path& path, const ConnectionOptions& options,
                       MissingFolder missing_folder);

// Checks that the file at `path` can be read, or created if it is missing. Does not open it.
Status CheckMayBeDatabase(const std::filesystem::path& path, MissingFolder missing_folder);

// Opens an existing database at the current schema; for reading, also at an older readable one.
// kDataLoss if the file is empty.
Result<std::unique_ptr<Connection>> OpenDatabase(const std::filesystem::path& path,
                                                 const ConnectionOptions& options);

// The same on a server, where the database exists, with or without tables.
Result<std::unique_ptr<Connection>> OpenDatabase(const DatabaseServer& server, Access access);

// Opens a file for reading only, with the access that this process has and the disk has room for,
// which becomes options.access: that of a writer if it has the right to write. kNotFound if there
// is no such file.
Result<std::unique_ptr<Connection>> OpenToRead(const std::filesystem::path& path,
                                               ConnectionOptions& options);

// Like OpenToRead(), but from inside another program (guest_vfs.h). Opens as a guest unless a
// connection of another kind is open in this process.
Result<std::unique_ptr<Connection>> OpenAsGuest(const std::filesystem::path& path,
                                                ConnectionOptions& options);

// Verifies every index and every page.
Status CheckPages(Connection& connection);

}  // namespace attune::sql
