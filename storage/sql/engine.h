// The differences between databases: how to connect, how to begin a transaction, and how to
// translate SQLite's dialect. docs/design/0036-a-fleet.md.
#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/cell.h"
#include "storage/sql/soci_headers.h"

namespace attune::sql {

class Connection;
struct Migration;
struct Table;

// Why an operation failed; decides whether to retry it.
enum class Fault {
  kFinal,     // A retry gives the same.
  kLost,      // The connection is gone, or cannot be made now.
  kConflict,  // The database rolled the transaction back in favour of another one.
};

struct EngineFailure {
  Status status;
  Fault fault = Fault::kFinal;
};

// Statements without parameters; an empty one is skipped.
struct EngineTexts {
  std::string tables;  // The names of all tables, in order of the names.
  std::string begin_write;
  std::vector<std::string> begin_read;  // Later statements see one state of the database.
  // Appended to the selection of the row of `counter` that begins each write. Excludes other
  // writers from then on to the end of the transaction.
  std::string lock_counter;
  // Drops the index {0} of the table {1}, if it exists.
  std::string drop_index = "DROP INDEX IF EXISTS {0}";
  // Appended to the name of a table: look-ups of its rows use the index {}, regardless of their
  // number. Empty for a database that always does so.
  std::string use_index = "";
  // Returns "1" once this transaction has the right to migrate this database; run inside of a write
  // transaction.
  std::string lock_schema;
  // Run after the statements of a migration, if these end their transaction.
  std::vector<std::string> resume;
  std::string unlock_schema;  // Run after the end of the transaction, if the lock outlives it.
  // For servers, with {} for a number: `mark` marks it as in use until the connection ends, and
  // returns "1"; `is_marked` returns "1" if any connection has marked it, else "0".
  std::string mark;
  std::string is_marked;
  // For servers: the time by the server's clock, in microseconds since 1970, as a text.
  std::string now_us;
  // Maximum number of rows that one statement writes: large if each statement waits for a server.
  size_t rows_at_once = 1;
  // Appended to an insertion of rows: those whose id exists replace it. " ... {}", where {} is
  // `replaced_column` for each column.
  std::string replaced_rows = " ON CONFLICT (id) DO UPDATE SET {}";
  std::string replaced_column = "{0} = EXCLUDED.{0}";
};

// Effect of inserting a row whose id exists.
enum class SameId { kFails, kIsReplaced };

// A statement that writes rows, with its parameters.
struct RowsStatement {
  std::string sql;
  Row parameters;
  size_t row_count = 0;
};

// One per connection. Not thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;

  // The name of the database in messages: a path, or a URL without a password.
  virtual const std::string& name() const = 0;
  virtual const EngineTexts& texts() const = 0;
  // Opens the session of `connection`. The caller translates exceptions of the library.
  virtual Status Open(Connection& connection) = 0;
  // Translates `sql`, in which only key words are in capital letters, to this database's dialect.
  virtual std::string Adapted(std::string_view sql) const = 0;
  // Inserts all columns (:p0, :p1, ...) unless a row has the same `unique_columns` ("tag_id,
  // problem_id"); then no row is affected. In the database's dialect.
  virtual std::string InsertIfNewSql(const Table& table, std::string_view unique_columns) const = 0;
  // Inserts the first of `rows`, all columns of them: as many as this database handles well at
  // once. The statement returns their number. Lists of any length take few different statements, so
  // that each is prepared once. REQUIRES: there are rows.
  virtual RowsStatement InsertRows(const Table& table, std::span<const Row> rows,
                                   SameId same_id) const;
  // Checks that everything `migrations` made exists unchanged. kDataLoss names the difference.
  virtual Status CheckDefinitions(Connection& connection,
                                  std::span<const Migration> migrations) const = 0;
  // The failure of an exception, other than std::bad_alloc, that a library threw while `sql` ran.
  // Called in a catch block.
  virtual EngineFailure Translated(soci::session& session, const std::exception& error,
                                   std::string_view sql) const = 0;

 protected:
  // The number of `rows`, at least one, that fits into `rows_at_once` and the longest message of a
  // server.
  size_t CountAtOnce(std::span<const Row> rows) const;
  // The end of an insertion of rows of `table`.
  std::string BehindRows(const Table& table, SameId same_id) const;
};

}  // namespace attune::sql
