#include "storage/sql/statement.h"

#include <cassert>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "storage/sql/connection.h"

namespace attune::sql {
namespace {

Row CellsOf(const std::vector<CellType>& types) {
  Row row(types.size());
  for (size_t i = 0; i < types.size(); ++i) row[i].type = types[i];
  return row;
}

// Calls `exchange` with SOCI's element for `cell`, made by `use` or `into`.
template <class Exchange>
void ExchangeCell(Cell& cell, const Exchange& exchange) {
  switch (cell.type) {
    case CellType::kInteger:
      return exchange(cell.integer);
    case CellType::kReal:
      return exchange(cell.real);
    case CellType::kText:
      return exchange(cell.text);
  }
}

}  // namespace

Statement::Statement(Connection& connection, std::string_view sql, const StatementShape& shape)
    : connection_(connection),
      sql_(sql),
      parameters_(CellsOf(shape.parameters)),
      parameter_indicators_(shape.parameters.size(), soci::i_ok),
      results_(CellsOf(shape.results)),
      result_indicators_(shape.results.size(), soci::i_ok),
      statement_(connection.session()) {
  for (size_t i = 0; i < results_.size(); ++i) {
    ExchangeCell(results_[i], [&](auto& value) {
      statement_.exchange(soci::into(value, result_indicators_[i]));
    });
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    ExchangeCell(parameters_[i], [&](auto& value) {
      statement_.exchange(soci::use(value, parameter_indicators_[i], fmt::format("p{}", i)));
    });
  }
  statement_.alloc();
  statement_.prepare(sql_);
  statement_.define_and_bind();
}

void Statement::SetParameters(std::span<const Cell> cells) {
  assert(cells.size() == parameters_.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    assert(cells[i].type == parameters_[i].type);
    parameters_[i] = cells[i];
  }
}

Status Statement::Run() {
  assert(results_.empty());
  return Start();
}

Status Statement::Start() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    parameter_indicators_[i] = parameters_[i].is_null ? soci::i_null : soci::i_ok;
  }
  try {
    statement_.execute(results_.empty());
  } catch (const std::exception& error) {
    return connection_.Translated(error, sql_);
  }
  return Status::Ok();
}

Result<bool> Statement::Next() {
  try {
    if (!statement_.fetch()) return false;
  } catch (const std::exception& error) {
    return connection_.Translated(error, sql_);
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    results_[i].is_null = result_indicators_[i] == soci::i_null;
  }
  return true;
}

int64_t Statement::affected_rows() { return statement_.get_affected_rows(); }

Cell IntegerCell(int64_t value) {
  Cell cell;
  cell.integer = value;
  return cell;
}

Cell TextCell(std::string_view value) {
  Cell cell;
  cell.type = CellType::kText;
  cell.text = value;
  return cell;
}

}  // namespace attune::sql
