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
  // Fills the new tables; runs after the statements. May be null.
  Status (*fill)(Connection& connection) = nullptr;
  // Indexes that newer ones replace.
  std::vector<DroppedIndex> dropped = {};
};

// Returns true if `statement`, of one of `migrations`, made an index that a later one of them
// drops.
bool IsOfDroppedIndex(std::string_view statement, std::span<const Migration> migrations);

// All migrations of this program in SQLite's words, in order; versions count from 1 without a gap.
const std::vector<Migration>& Migrations();

// Brings the database to the last of `migrations`, all in one transaction. MariaDB commits at each
// definition, so there the steps can resume after an interruption. kFailedPrecondition if the
// database is newer than that or not attune's; kDataLoss if its tables differ from those that the
// migrations made.
Status Migrate(Connection& connection, std::span<const Migration> migrations);

// Schemas from this version on are read unchanged: later additions matter only to queries for
// changes since a revision.
inline constexpr size_t kOldestReadableVersion = 2;

// Checks that `migrations` reach the database's version. Runs inside of a write transaction, each
// time: a newer program may have migrated the database since this one opened it, and would take
// rows of an older form for damage. kFailedPrecondition if the database is newer.
Status CheckWritable(Connection& connection, std::span<const Migration> migrations);

// Like Migrate, for callers without write access. kFailedPrecondition also if the database is older
// than kOldestReadableVersion.
Status CheckReadable(Connection& connection, std::span<const Migration> migrations);

}  // namespace attune::sql
