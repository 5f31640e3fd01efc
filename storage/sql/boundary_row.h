// From which id on rows are of a newer form: tables with the one row (id 1, after_revision).
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/table.h"

namespace attune::sql {

// Notes in `table` that every row after the last one is of the newer form. Runs inside of a write
// transaction.
Status InsertBoundary(Connection& connection, const Table& table);

// The last id that is of the older form; nothing if the database is older than `table`, so that all
// are. kDataLoss if the table has no such row.
Result<std::optional<int64_t>> ReadBoundary(Connection& connection, const Table& table);

}  // namespace attune::sql
