// The RecordStore over a database; SQLite now, PostgreSQL and MariaDB through the same tables
// later. docs/formats/schema.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "attune/base/status.h"
#include "attune/record/record_store.h"

namespace attune {

struct SqlStoreOptions {
  std::chrono::milliseconds busy_timeout{5000};  // Patience with another process that writes.
  int64_t max_size_bytes = 0;                    // Of the database; 0 for as much as the disk has.
};

// Opens the store at a path, "sqlite:PATH" or "sqlite://PATH"; makes the database and its folder if
// there is none, and brings an older one to this program's schema.
//
//   kInvalidArgument     The path is empty or cannot be one.
//   kUnsupported         The scheme is of a database that this build cannot talk to.
//   kFailedPrecondition  The schema is newer than this program, or another program's.
//   kDataLoss            The file is damaged, empty or no database. Table, row and column are named
//                        where they can be.
//   kResourceExhausted   The disk is full. What was acknowledged before is kept.
//   kUnavailable         No permission, or another process holds the write lock for too long.
//
// The methods of the store fail in the same ways. Several processes may use one database, on a
// local file system. Writers take turns; readers see the last commit and wait for nobody. `visit`
// runs inside of a read snapshot and may call the store.
Result<std::unique_ptr<RecordStore>> OpenSqlStore(const std::string& url_or_path,
                                                  const SqlStoreOptions& options = {});

// Reads every row and compares every index with its table. Takes about a second for each 100 MB.
// kDataLoss names what is damaged.
Status CheckSqlStore(const std::string& url_or_path, const SqlStoreOptions& options = {});

// $XDG_DATA_HOME/attune/attune.db, else $HOME/.local/share/attune/attune.db. kFailedPrecondition if
// neither variable is an absolute path.
Result<std::string> DefaultDatabasePath();

}  // namespace attune
