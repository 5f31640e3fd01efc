// Reports a missing row that another row refers to.
#pragma once

#include <cstdint>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/table.h"

namespace attune::sql {

// kDataLoss: names the row that refers to row `id` of `table` (by a column "TABLE_id") and its
// column if it was changed; otherwise reports that the row is missing.
Status MissingRow(Connection& connection, const Table& table, int64_t id);

}  // namespace attune::sql
