#include "storage/sql/missing_row.h"

#include <algorithm>
#include <span>
#include <string>

#include <fmt/format.h>

#include "storage/sql/transaction.h"

namespace attune::sql {

Status MissingRow(Connection& connection, const Table& table, int64_t id) {
  const std::string reference = fmt::format("{}_id", table.name);
  const std::string condition = fmt::format("{} = :p0", reference);
  const Cell cell = IntegerCell(id);
  for (const Table* const other : AllTables()) {
    const bool refers = std::ranges::any_of(
        other->columns, [&](const Column& column) { return column.name == reference; });
    if (!refers) continue;
    ATTUNE_ASSIGN_OR_RETURN(const bool is_there, HasTable(connection, *other));
    if (!is_there) continue;
    // Reading checks each row, so that a changed one is reported.
    const Status read = ReadRows(connection, {*other, condition, {&cell, 1}},
                                 [](std::span<const Cell>) { return Status::Ok(); });
    if (read.code() == StatusCode::kDataLoss) return read;
  }
  return DataLoss(fmt::format("Table {} has no row {}, but database '{}' refers to it.", table.name,
                              id, connection.name()));
}

}  // namespace attune::sql
