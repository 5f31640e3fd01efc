// What is said where a row is not there that another one refers to.
#pragma once

#include <cstdint>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/table.h"

namespace attune::sql {

// kDataLoss: the row that refers to row `id` of `table` (by a column called "TABLE_id"), if it is
// the one that was changed, with its column; else that the row is missing.
Status MissingRow(Connection& connection, const Table& table, int64_t id);

}  // namespace attune::sql
