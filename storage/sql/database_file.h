// Where a database is, and how a new one comes to be there.
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
// that takes a few tens of milliseconds and is done whenever it is opened.
inline constexpr int64_t kCheckedAtOpenBytes = int64_t{4} << 20;

// Whether `url_or_path` has a scheme other than that of SQLite.
bool NamesServer(std::string_view url_or_path);

// The path in "PATH", "sqlite:PATH" or "sqlite://PATH". kUnsupported for another scheme.
Result<std::filesystem::path> DatabasePath(const std::string& url_or_path);

// What happens to the folders of a new database that are missing.
enum class MissingFolder { kCreated, kRefused };

// Makes the database `path` with all tables if there is no such file. It appears complete or not at
// all, and the one of a concurrent process is left as it is. kFailedPrecondition for a folder that
// is refused.
Status CreateIfMissing(const std::filesystem::path& path, const ConnectionOptions& options,
                       MissingFolder missing_folder);

// Checks that the file at `path` can be read, or created if it is missing. Does not open it.
Status CheckMayBeDatabase(const std::filesystem::path& path, MissingFolder missing_folder);

// Opens an existing database at the current schema; to read it, also at the last one. kDataLoss if
// the file is empty.
Result<std::unique_ptr<Connection>> OpenDatabase(const std::filesystem::path& path,
                                                 const ConnectionOptions& options);

// The same on a server, where the database exists, with or without tables.
Result<std::unique_ptr<Connection>> OpenDatabase(const DatabaseServer& server, Access access);

// A file to read only, in whatever way this process may and the disk has room for, which becomes
// options.access: as a writer would if it has the right to write. kNotFound if there is no such
// file.
Result<std::unique_ptr<Connection>> OpenToRead(const std::filesystem::path& path,
                                               ConnectionOptions& options);

// Like OpenToRead(), but from inside another program (guest_vfs.h). Opens as a guest unless a
// connection of another kind is open in this process.
Result<std::unique_ptr<Connection>> OpenAsGuest(const std::filesystem::path& path,
                                                ConnectionOptions& options);

// Compares every index and every page with what it must be.
Status CheckPages(Connection& connection);

}  // namespace attune::sql
