// A prepared statement with the cells that it reads and writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "storage/sql/cell.h"
#include "storage/sql/soci_headers.h"

namespace attune::sql {

class Connection;

// Parameters and results of a statement. Parameters are named :p0, :p1, ... in the order of
// `parameters`.
struct StatementShape {
  std::vector<CellType> parameters;
  std::vector<CellType> results;
};

// Made by Connection::Prepare, and owned by the connection. Not thread-safe.
class Statement {
 public:
  // May throw soci::soci_error; Connection::Prepare translates.
  Statement(Connection& connection, std::string_view sql, const StatementShape& shape);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The parameters; fill them before Run or Start.
  std::span<Cell> parameters() { return parameters_; }
  void SetParameters(std::span<const Cell> cells);
  void SetParameters(std::initializer_list<Cell> cells) {
    SetParameters(std::span(cells.begin(), cells.size()));
  }

  // Executes a statement without results.
  Status Run();
  // Executes a statement with results; each Next() that returns true has filled row(). The caller
  // must call it until it returns false: an open statement would hold its snapshot.
  Status Start();
  Result<bool> Next();
  const Row& row() const { return results_; }

  // Rows changed by the last Run().
  int64_t affected_rows();

 private:
  Connection& connection_;
  std::string sql_;
  Row parameters_;
  std::vector<soci::indicator> parameter_indicators_;
  Row results_;
  std::vector<soci::indicator> result_indicators_;
  soci::statement statement_;
};

// Cells of parameters.
Cell IntegerCell(int64_t value);
Cell TextCell(std::string_view value);

}  // namespace attune::sql
