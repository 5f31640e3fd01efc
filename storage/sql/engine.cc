#include "storage/sql/engine.h"

#include <iterator>

#include <fmt/format.h>

#include "storage/sql/table.h"

namespace attune::sql {
namespace {

// Text bytes in one statement: a quarter of MariaDB's default limit.
constexpr size_t kMostTextBytes = size_t{4} << 20;

size_t TextBytesOf(const Row& row) {
  size_t bytes = 0;
  for (const Cell& cell : row) bytes += cell.text.size();
  return bytes;
}

// INSERT INTO t (...) VALUES (:p0, ...), (...): `count` rows.
std::string ValuesSql(const Table& table, size_t count) {
  const size_t columns = table.columns.size();
  std::string sql =
      fmt::format("INSERT INTO {} ({}) VALUES", table.name, ColumnList(table, columns));
  for (size_t i = 0; i < count * columns; ++i) {
    const bool begins = i % columns == 0;
    fmt::format_to(std::back_inserter(sql), "{}:p{}", begins ? (i == 0 ? " (" : "), (") : ", ", i);
  }
  return sql + ")";
}

}  // namespace

size_t Engine::CountAtOnce(std::span<const Row> rows) const {
  size_t count = 0;
  size_t bytes = 0;
  while (count < rows.size() && count < texts().rows_at_once) {
    bytes += TextBytesOf(rows[count]);
    if (count > 0 && bytes > kMostTextBytes) break;
    ++count;
  }
  return count;
}

std::string Engine::BehindRows(const Table& table, SameId same_id) const {
  if (same_id == SameId::kFails) return "";
  std::string columns;
  for (size_t i = 1; i < table.columns.size(); ++i) {
    columns += (i == 1 ? "" : ", ") +
               fmt::format(fmt::runtime(texts().replaced_column), table.columns[i].name);
  }
  return fmt::format(fmt::runtime(texts().replaced_rows), columns);
}

RowsStatement Engine::InsertRows(const Table& table, std::span<const Row> rows,
                                 SameId same_id) const {
  RowsStatement statement;
  statement.row_count = texts().rows_at_once;
  for (const size_t fitting = CountAtOnce(rows); statement.row_count > fitting;) {
    statement.row_count /= 4;
  }
  for (const Row& row : rows.first(statement.row_count)) {
    statement.parameters.insert(statement.parameters.end(), row.begin(), row.end());
  }
  const bool is_one = statement.row_count == 1 && same_id == SameId::kFails;
  statement.sql = is_one ? table.insert_sql
                         : ValuesSql(table, statement.row_count) + BehindRows(table, same_id);
  return statement;
}

}  // namespace attune::sql
