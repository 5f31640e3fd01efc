// The stores over a database, in a file (SQLite) or on a server (PostgreSQL, MariaDB).
// docs/formats/schema.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "attune/base/outage_log.h"
#include "attune/base/status.h"
#include "attune/record/import_store.h"
#include "attune/record/record_store.h"
#include "attune/session/artifact_store.h"
#include "attune/session/fleet_store.h"
#include "attune/session/golden_store.h"
#include "attune/session/job_store.h"
#include "attune/session/session_store.h"
#include "storage/sql/database_server.h"
#include "storage/sql/spool_import.h"

namespace attune {

// The purpose of opening a store.
enum class StoreUse {
  kRecord,  // Created if missing, migrated to this program's schema, read and written.
  // Reads only and changes nothing: the right to read the file is enough. State and queries for
  // changes since a revision need version 3 of the schema.
  kRead,
  // Reads a file from inside a foreign program: writes and maps nothing, and keeps no descriptor
  // that the program could take for its own. All reads see the state at the first read. Other
  // connections of the process, and writers with a long log, wait until it is closed, so close it
  // soon.
  kReadAsGuest,
};

struct SqlStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};  // Patience with another process that writes.
  int64_t max_size_bytes = 0;                    // For the database; 0 for no limit but the disk.
  StoreUse use = StoreUse::kRecord;
  // Opens servers, if they may be named (servers/database_servers.h). Null: files alone, as in
  // libraries that other programs load.
  sql::ServerAt server_at = nullptr;
  // For a server: how long operations are retried after the connection is gone.
  std::chrono::milliseconds reconnecting{30'000};
  // For a server: notified when it goes away and when it is back; may be null. Shared, because
  // other components report outages to it too, and a database may outlive them.
  std::shared_ptr<OutageLog> outages = nullptr;
  // For files that are read: later reads fail with kUnavailable once this is set. May be null.
  const std::atomic<bool>* is_cancelled = nullptr;
  // For files: called after each write with the wait for the write lock; for tests.
  void (*on_write_lock)(int64_t waited_ns) = nullptr;
  // For files that are opened for writing: recorded problems are imported first, and this gets the
  // result (spool_import.h). If null, spools with complaints stay.
  std::function<void(const SpoolImport&)> imported = nullptr;
};

// An open database, which all stores over it share; sql_database.h has the operations of the
// stores.
class SqlDatabase;

// Opens the database at a path, "sqlite:PATH" or "sqlite://PATH"; makes the database if there is
// none, with its folder if that is the default one's, and brings an older one to this program's
// schema, unless `use` is kRead. Or the database at "postgresql://USER@HOST/DATABASE" or
// "mysql://USER@HOST/DATABASE", which exists and gets its tables here.
//
//   kInvalidArgument     The path is empty or cannot be one.
//   kUnsupported         The build does not support the database of this scheme.
//   kNotFound            There is no database, and `use` is kRead.
//   kFailedPrecondition  The schema is newer than this program, too old to be read unchanged, or
//                        another program's; or a write was asked for with kRead; or the
//                        folder of a new database, not the default one, is missing.
//   kDataLoss            The file is damaged, empty or no database. Table, row and column are named
//                        where they can be.
//   kResourceExhausted   The disk is full. Earlier acknowledged writes are kept.
//   kUnavailable         No permission, or another process holds the write lock for too long, or
//                        the server cannot be reached.
//
// The methods of the stores fail in the same ways. Several processes may use one database, a file
// on a local file system. Writers take turns; readers see the last commit and never wait. `visit`
// runs inside of a read snapshot and may call the store.
Result<std::shared_ptr<SqlDatabase>> OpenSqlDatabase(const std::string& url_or_path,
                                                     const SqlStoreOptions& options = {});

// The stores over a database. Each keeps it open.
std::unique_ptr<RecordStore> RecordsIn(std::shared_ptr<SqlDatabase> database);
std::unique_ptr<ImportStore> ImportsIn(std::shared_ptr<SqlDatabase> database);
std::unique_ptr<SessionStore> SessionsIn(std::shared_ptr<SqlDatabase> database);
std::unique_ptr<JobStore> JobsIn(std::shared_ptr<SqlDatabase> database);
std::unique_ptr<GoldenStore> GoldenIn(std::shared_ptr<SqlDatabase> database);
std::unique_ptr<FleetStore> FleetIn(std::shared_ptr<SqlDatabase> database);
std::unique_ptr<ArtifactStore> ArtifactsIn(std::shared_ptr<SqlDatabase> database);

// The records of a database, for callers that need nothing else.
Result<std::unique_ptr<RecordStore>> OpenSqlStore(const std::string& url_or_path,
                                                  const SqlStoreOptions& options = {});

// Checks, without opening it, that `path` is a readable file, or a place where this process can
// create one.
Status CheckMayBeDatabase(const std::filesystem::path& path);

// Creates the static objects of the libraries that a store uses, now, in a millisecond. Handlers
// that a program registers with atexit() afterwards then run while these objects exist, whichever
// thread uses a store first. From then on a fork() copies none of SQLite's global locks
// (GuardSqliteForks).
void LoadSqlLibrary();

// Returns true if a database is on a server, and so no file.
bool IsOnServer(const std::string& url_or_path);

// The file that OpenSqlStore opens for `url_or_path`, absolute. kUnsupported for one on a server.
Result<std::filesystem::path> SqlStorePath(const std::string& url_or_path);

// Reads every row, and for a file compares every index with its table. Takes about a second for
// each 100 MB. kDataLoss names the damaged part.
Status CheckSqlStore(const std::string& url_or_path, const SqlStoreOptions& options = {});

// $XDG_DATA_HOME/attune/attune.db, else $HOME/.local/share/attune/attune.db. kFailedPrecondition if
// neither variable is an absolute path.
Result<std::string> DefaultDatabasePath();

}  // namespace attune
