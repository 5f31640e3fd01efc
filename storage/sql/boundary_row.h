// Tables with one row that has one number (id 1, number): the id from which rows are of a newer
// form, or the number of rows of another table.
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// The row of `table`. Runs inside of a write transaction.
Status InsertNumber(Connection& connection, const Table& table, int64_t number);
Status UpdateNumber(WriteTransaction& transaction, const Table& table, int64_t number);
// Nothing if the database is older than `table`. kDataLoss if the table has no such row.
Result<std::optional<int64_t>> ReadNumber(Connection& connection, const Table& table);

// Records in `table` that every row after the last one is of the newer form. Runs inside of a write
// transaction. ReadNumber then returns the last id of the older form, and nothing if all are.
Status InsertBoundary(Connection& connection, const Table& table);

}  // namespace attune::sql
