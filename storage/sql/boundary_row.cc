#include "storage/sql/boundary_row.h"

#include <fmt/format.h>

#include "storage/sql/transaction.h"

namespace attune::sql {

namespace {

Row NumberRow(const Table& table, int64_t number) {
  return RowWriter(table).Integer(kBoundaryRow).Integer(number).Checksum().Take();
}

}  // namespace

Status InsertNumber(Connection& connection, const Table& table, int64_t number) {
  ATTUNE_ASSIGN_OR_RETURN(
      Statement * insert,
      connection.Prepare(table.insert_sql, {TypesOf(table, table.columns.size()), {}}));
  insert->SetParameters(NumberRow(table, number));
  return insert->Run();
}

Status UpdateNumber(WriteTransaction& transaction, const Table& table, int64_t number) {
  return transaction.Update(table, NumberRow(table, number));
}

Status InsertBoundary(Connection& connection, const Table& table) {
  ATTUNE_ASSIGN_OR_RETURN(const int64_t last_id, ReadLastId(connection));
  return InsertNumber(connection, table, last_id);
}

Result<std::optional<int64_t>> ReadNumber(Connection& connection, const Table& table) {
  ATTUNE_ASSIGN_OR_RETURN(const bool is_there, HasTable(connection, table));
  if (!is_there) return std::optional<int64_t>();
  const Cell id = IntegerCell(kBoundaryRow);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {table, "id = :p0", {&id, 1}}));
  if (row.has_value()) return std::optional<int64_t>((*row)[1].integer);
  return DataLoss(fmt::format("Table {} of database '{}' has no row {}.", table.name,
                              connection.name(), kBoundaryRow));
}

}  // namespace attune::sql
