// What differs from one database to the next: how a connection is made, how a transaction begins,
// and how what is said once in SQLite's words is said in others'. docs/design/0036-a-fleet.md.
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

// Why an operation failed, for whoever may do it again.
enum class Fault {
  kFinal,     // Doing it again gives the same.
  kLost,      // The connection is gone, or cannot be made now.
  kConflict,  // The database rolled the transaction back in favour of another one.
};

struct EngineFailure {
  Status status;
  Fault fault = Fault::kFinal;
};

// Statements without parameters; where one is empty nothing is to be done.
struct EngineTexts {
  std::string tables;  // The names of all tables, in order of the names.
  std::string begin_write;
  std::vector<std::string> begin_read;  // What follows sees one state of the database.
  // Put behind the selection of the row of `counter` that begins each write: from then on to the
  // end of the transaction nobody else writes.
  std::string lock_counter;
  // Drops the index {0} of the table {1}, if it is there.
  std::string drop_index = "DROP INDEX IF EXISTS {0}";
  // Behind the name of a table: its rows are looked for by the index {}, however many that may be.
  // Empty for a database that does so anyway.
  std::string use_index = "";
  // Gives "1" once nobody else migrates this database; asked inside of a write transaction.
  std::string lock_schema;
  // After the statements of a migration, where these end the transaction that they stand in.
  std::vector<std::string> resume;
  std::string unlock_schema;  // After the end of the transaction, where that keeps the lock.
  // Of servers, with {} for a number: marks that as being worked at until the connection ends, and
  // gives "1"; whether any connection has marked it, "1" or "0".
  std::string mark;
  std::string is_marked;
  // Of servers: the moment by the server's clock, in microseconds since 1970, as a text.
  std::string now_us;
  // Rows that one statement writes at most: where each statement waits for a server, many.
  size_t rows_at_once = 1;
  // Behind an insertion of rows: those whose id is there replace it. " ... {}", where {} is
  // `replaced_column` for each column.
  std::string replaced_rows = " ON CONFLICT (id) DO UPDATE SET {}";
  std::string replaced_column = "{0} = EXCLUDED.{0}";
};

// What an insertion does with a row whose id is there.
enum class SameId { kFails, kIsReplaced };

// A statement that writes rows, with what it takes.
struct RowsStatement {
  std::string sql;
  Row parameters;
  size_t row_count = 0;
};

// Of one connection. Not thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;

  // What messages call the database: a path, or a URL without a password.
  virtual const std::string& name() const = 0;
  virtual const EngineTexts& texts() const = 0;
  // Opens the session of `connection`. What the library throws is the caller's to translate.
  virtual Status Open(Connection& connection) = 0;
  // `sql`, whose key words are in capital letters and whose names are not, as this database says
  // it.
  virtual std::string Adapted(std::string_view sql) const = 0;
  // Inserts all columns (:p0, :p1, ...) unless a row has the same `unique_columns` ("tag_id,
  // problem_id"); then no row is affected. In the database's own words.
  virtual std::string InsertIfNewSql(const Table& table, std::string_view unique_columns) const = 0;
  // Inserts the first of `rows`, all columns of them: as many as this database does well with at
  // once, of which the statement says how many there are. Lists of any length take few different
  // statements, so that each is prepared once. REQUIRES: there are rows.
  virtual RowsStatement InsertRows(const Table& table, std::span<const Row> rows,
                                   SameId same_id) const;
  // That what `migrations` made is there, and not changed. kDataLoss names what is not.
  virtual Status CheckDefinitions(Connection& connection,
                                  std::span<const Migration> migrations) const = 0;
  // The failure of an exception, other than std::bad_alloc, that a library threw while `sql` ran.
  // Called in a catch block.
  virtual EngineFailure Translated(soci::session& session, const std::exception& error,
                                   std::string_view sql) const = 0;

 protected:
  // How many of `rows`, at least one, `rows_at_once` and the longest message of a server have room
  // for.
  size_t CountAtOnce(std::span<const Row> rows) const;
  // What stands behind an insertion of rows of `table`.
  std::string BehindRows(const Table& table, SameId same_id) const;
};

}  // namespace attune::sql
