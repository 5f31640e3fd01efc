// The numbered steps that make the tables. A step, once released, never changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/connection.h"

namespace attune::sql {

// An index that an earlier migration has made.
struct DroppedIndex {
  std::string_view name;
  std::string_view table;
};

struct Migration {
  int version = 0;
  std::string_view name;
  std::vector<std::string> statements;
  // What the new tables hold from the start; runs after the statements. May be null.
  Status (*fill)(Connection& connection) = nullptr;
  // In whose place there is another one now.
  std::vector<DroppedIndex> dropped = {};
};

// Whether `statement`, of one of `migrations`, made an index that a later one of them drops.
bool IsOfDroppedIndex(std::string_view statement, std::span<const Migration> migrations);

// All migrations of this program in SQLite's words, in order; versions count from 1 without a gap.
const std::vector<Migration>& Migrations();

// Brings the database to the last of `migrations`, all in one transaction; on MariaDB, which
// commits at each definition, in steps that are gone on with. kFailedPrecondition if it is newer
// than that or not attune's; kDataLoss if its tables are not what the migrations made.
Status Migrate(Connection& connection, std::span<const Migration> migrations);

// Schemas from this on are read as they are: what came later concerns only who asks what changed
// since a revision.
inline constexpr size_t kOldestReadableVersion = 2;

// That `migrations` go as far as the database does. Runs inside of a write transaction, each time:
// a newer program may have migrated the database since this one opened it, and rows of an older
// form would be taken for damage. kFailedPrecondition if the database is newer.
Status CheckWritable(Connection& connection, std::span<const Migration> migrations);

// As Migrate, for who must not write. kFailedPrecondition also if the database is older than
// kOldestReadableVersion.
Status CheckReadable(Connection& connection, std::span<const Migration> migrations);

}  // namespace attune::sql
