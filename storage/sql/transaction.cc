#include "storage/sql/transaction.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/migrations.h"

namespace attune::sql {
namespace {

constexpr int64_t kCounterId = 1;

std::vector<CellType> TypesOf(std::span<const Cell> cells) {
  std::vector<CellType> types;
  for (const Cell& cell : cells) types.push_back(cell.type);
  return types;
}

Row CounterRow(int64_t value) {
  return RowWriter(CounterTable()).Integer(kCounterId).Integer(value).Checksum().Take();
}

// Runs `statement` with `cells` as parameters; returns the number of changed rows.
Result<int64_t> RunWrite(Statement& statement, std::span<const Cell> cells) {
  statement.SetParameters(cells);
  ATTUNE_RETURN_IF_ERROR(statement.Run());
  return statement.affected_rows();
}

Result<int64_t> RunWrite(Connection& connection, std::string_view sql,
                         std::span<const Cell> cells) {
  Statement* statement = connection.Find(sql);
  if (statement == nullptr) {
    ATTUNE_ASSIGN_OR_RETURN(statement, connection.Prepare(sql, {TypesOf(cells), {}}));
  }
  return RunWrite(*statement, cells);
}

}  // namespace

Status ReadRows(Connection& connection, const Selection& selection,
                const std::function<Status(std::span<const Cell>)>& visit) {
  const Table& table = selection.table;
  const size_t column_count =
      selection.with_samples ? table.columns.size() : table.checksum_column + 1;
  const std::string& use_index = connection.engine().texts().use_index;
  const std::string index = selection.index.empty() || use_index.empty()
                                ? ""
                                : fmt::format(fmt::runtime(use_index), selection.index);
  const std::string sql =
      fmt::format("SELECT {} FROM {}{} WHERE {}", ColumnList(table, column_count), table.name,
                  index, selection.where);
  ATTUNE_ASSIGN_OR_RETURN(
      Statement * statement,
      connection.Prepare(sql, {TypesOf(selection.parameters), TypesOf(table, column_count)}));
  statement->SetParameters(selection.parameters);
  ATTUNE_RETURN_IF_ERROR(statement->Start());
  for (;;) {
    ATTUNE_ASSIGN_OR_RETURN(const bool has_row, statement->Next());
    if (!has_row) return Status::Ok();
    ATTUNE_RETURN_IF_ERROR(CheckRow(table, statement->row()));
    ATTUNE_RETURN_IF_ERROR(visit(statement->row()));
  }
}

Result<bool> HasTable(Connection& connection, const Table& table) {
  ATTUNE_ASSIGN_OR_RETURN(const auto found, connection.Texts(connection.engine().texts().tables));
  return std::find(found.begin(), found.end(), table.name) != found.end();
}

Result<std::optional<Row>> ReadRow(Connection& connection, const Selection& selection) {
  std::optional<Row> result;
  ATTUNE_RETURN_IF_ERROR(ReadRows(connection, selection, [&](std::span<const Cell> row) -> Status {
    if (result.has_value()) {
      return DataLoss(fmt::format("Rows {} and {} of table {} should be one.", (*result)[0].integer,
                                  row[0].integer, selection.table.name));
    }
    result.emplace(row.begin(), row.end());
    return Status::Ok();
  }));
  return result;
}

Status MakeCounter(Connection& connection) {
  const std::string sql = connection.engine().InsertIfNewSql(CounterTable(), "id");
  return RunWrite(connection, sql, CounterRow(0)).status();
}

Result<int64_t> ReadLastId(Connection& connection) {
  const Cell id = IntegerCell(kCounterId);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {CounterTable(), "id = :p0", {&id, 1}}));
  if (row.has_value()) return (*row)[1].integer;
  return DataLoss(
      fmt::format("Table counter of database '{}' has no row {}.", connection.name(), kCounterId));
}

Result<WriteTransaction> WriteTransaction::Begin(Connection& connection) {
  ATTUNE_RETURN_IF_ERROR(connection.BeginWrite());
  WriteTransaction transaction(connection, 0);
  const Cell id = IntegerCell(kCounterId);
  const std::string where = fmt::format("id = :p0{}", connection.engine().texts().lock_counter);
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Row> row,
                          ReadRow(connection, {CounterTable(), where, {&id, 1}}));
  // With the lock held, no other process can migrate the database.
  ATTUNE_RETURN_IF_ERROR(CheckWritable(connection, Migrations()));
  if (row.has_value()) {
    transaction.last_id_ = (*row)[1].integer;
  } else {
    ATTUNE_RETURN_IF_ERROR(MakeCounter(connection));
  }
  return transaction;
}

WriteTransaction::~WriteTransaction() {
  if (connection_ != nullptr) connection_->Rollback();
}

Status WriteTransaction::Insert(const Table& table, std::span<const Cell> row) {
  return RunWrite(*connection_, table.insert_sql, row).status();
}

Result<bool> WriteTransaction::InsertIfNew(const Table& table, std::string_view unique_columns,
                                           std::span<const Cell> row) {
  auto upsert = std::find_if(upserts_.begin(), upserts_.end(), [&](const Upsert& each) {
    return each.table == &table && each.unique_columns == unique_columns;
  });
  if (upsert == upserts_.end()) {
    const std::string sql = connection_->engine().InsertIfNewSql(table, unique_columns);
    ATTUNE_ASSIGN_OR_RETURN(Statement * statement, connection_->Prepare(sql, {TypesOf(row), {}}));
    upsert = upserts_.insert(upserts_.end(), {&table, std::string(unique_columns), statement});
  }
  ATTUNE_ASSIGN_OR_RETURN(const int64_t inserted, RunWrite(*upsert->statement, row));
  return inserted == 1;
}

Status WriteTransaction::Update(const Table& table, std::span<const Cell> row) {
  Row parameters(row.begin(), row.end());
  parameters.push_back(row.front());
  ATTUNE_ASSIGN_OR_RETURN(const int64_t updated,
                          RunWrite(*connection_, table.update_sql, parameters));
  if (updated == 1) return Status::Ok();
  return DataLoss(fmt::format("Row {} of table {} of database '{}' has gone.", row.front().integer,
                              table.name, connection_->name()));
}

Status WriteTransaction::InsertAll(const Table& table, std::span<const Row> rows) {
  while (!rows.empty()) {
    const RowsStatement insert = connection_->engine().InsertRows(table, rows, SameId::kFails);
    ATTUNE_RETURN_IF_ERROR(RunWrite(*connection_, insert.sql, insert.parameters).status());
    rows = rows.subspan(insert.row_count);
  }
  return Status::Ok();
}

Status WriteTransaction::UpdateAll(const Table& table, std::span<const Row> rows) {
  const Engine& engine = connection_->engine();
  // One that is replaced alone can be missed.
  while (rows.size() > 1 && engine.texts().rows_at_once > 1) {
    const RowsStatement replace = engine.InsertRows(table, rows, SameId::kIsReplaced);
    ATTUNE_RETURN_IF_ERROR(RunWrite(*connection_, replace.sql, replace.parameters).status());
    rows = rows.subspan(replace.row_count);
  }
  for (const Row& row : rows) ATTUNE_RETURN_IF_ERROR(Update(table, row));
  return Status::Ok();
}

Result<int64_t> WriteTransaction::Run(std::string_view sql, std::span<const Cell> parameters) {
  return RunWrite(*connection_, sql, parameters);
}

Status WriteTransaction::Commit() {
  ATTUNE_RETURN_IF_ERROR(Update(CounterTable(), CounterRow(last_id_)));
  ATTUNE_RETURN_IF_ERROR(connection_->Commit());
  connection_ = nullptr;
  return Status::Ok();
}

}  // namespace attune::sql
