// A transaction over the tables: ids, and rows with their checksums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/connection.h"
#include "storage/sql/statement.h"
#include "storage/sql/table.h"

namespace attune::sql {

// Which rows of a table to read.
struct Selection {
  const Table& table;
  std::string_view where;  // "set_id = :p0 ORDER BY id"
  std::span<const Cell> parameters;
  bool with_samples = true;     // Read the columns behind the checksum, if the table has any.
  std::string_view index = {};  // EngineTexts::use_index; empty: the database chooses.
};

// Checks each row and calls `visit` for it. `visit` must not read the same selection.
Status ReadRows(Connection& connection, const Selection& selection,
                const std::function<Status(std::span<const Cell>)>& visit);

// Returns true if the database has `table`: one opened to be read may be older.
Result<bool> HasTable(Connection& connection, const Table& table);

// The only row, or nothing. kDataLoss if there are several.
Result<std::optional<Row>> ReadRow(Connection& connection, const Selection& selection);

// Makes the counter of ids, at 0, if there is none. Runs inside of a write transaction.
Status MakeCounter(Connection& connection);
// The last id given out; 0 before the first. kDataLoss if the counter is not there.
Result<int64_t> ReadLastId(Connection& connection);

// A write transaction; rolled back unless committed. Not thread-safe.
class WriteTransaction {
 public:
  // Takes the write lock, so that ids increase in order of commit. kFailedPrecondition if a newer
  // program has migrated the database since it was opened.
  static Result<WriteTransaction> Begin(Connection& connection);
  WriteTransaction(WriteTransaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)),
        last_id_(other.last_id_),
        upserts_(std::move(other.upserts_)) {}
  WriteTransaction& operator=(WriteTransaction&&) = delete;
  ~WriteTransaction();

  Connection& connection() { return *connection_; }
  // The id for the next row. An unused id may be returned at once.
  int64_t TakeId() { return ++last_id_; }
  void GiveBackId() { --last_id_; }

  Status Insert(const Table& table, std::span<const Cell> row);
  // False if a row with the same `unique_columns` ("tag_id, problem_id") exists already.
  Result<bool> InsertIfNew(const Table& table, std::string_view unique_columns,
                           std::span<const Cell> row);
  // Replaces the row with the same id.
  Status Update(const Table& table, std::span<const Cell> row);

  // The same for many rows; one statement writes as many as suit the database. REQUIRES: the ids
  // are new.
  Status InsertAll(const Table& table, std::span<const Row> rows);
  // REQUIRES: the rows exist.
  Status UpdateAll(const Table& table, std::span<const Row> rows);

  // Executes a statement without results; returns the number of changed rows.
  Result<int64_t> Run(std::string_view sql, std::span<const Cell> parameters);

  Status Commit();

 private:
  WriteTransaction(Connection& connection, int64_t last_id)
      : connection_(&connection), last_id_(last_id) {}

  // A statement of InsertIfNew, which runs for every row of a list.
  struct Upsert {
    const Table* table = nullptr;
    std::string unique_columns;
    Statement* statement = nullptr;  // The connection's.
  };

  Connection* connection_;
  int64_t last_id_;
  std::vector<Upsert> upserts_;
};

}  // namespace attune::sql
