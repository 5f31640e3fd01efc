// The tables as this program reads and writes them, and the checksum that ends each row.
// docs/formats/schema.md is the contract; migrations.cc makes the tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "storage/sql/cell.h"

namespace attune::sql {

enum class Nullable { kNo, kYes };

struct Column {
  std::string_view name;
  CellType type = CellType::kInteger;
  Nullable nullable = Nullable::kNo;
};

// Columns in the order of the schema: the first is `id`, and `checksum` stands before the optional
// `samples`.
struct Table {
  std::string_view name;
  std::vector<Column> columns;
  size_t checksum_column = 0;
  std::string insert_sql;  // INSERT INTO t (...) VALUES (:p0, ...), all columns.
  std::string update_sql;  // UPDATE t SET ... WHERE id = :p<n>: all columns, then the id again.
};

const Table& CounterTable();
const Table& TargetTable();
const Table& EnvironmentTable();
const Table& ProblemTable();
const Table& CandidateTable();
const Table& TagTable();
const Table& ProblemTagTable();
const Table& MeasurementSetTable();
const Table& SetProgressTable();
const Table& TrialTable();
const Table& StoreIdentityTable();  // One row.
const Table& FinishedSetTable();
const Table& BoundSamplesTable();  // One row.
const Table& SetConditionsTable();
const Table& KeptConditionsTable();  // One row.
const Table& ConditionCountTable();  // One row, as kept_conditions has it.
const Table& ImportedFileTable();
const Table& ImportedLineTable();
const Table& NetworkTable();         // As `tag`.
const Table& NetworkProblemTable();  // As `problem_tag`.
const Table& SessionTable();
const Table& SessionStateTable();
const Table& SessionTagTable();
const Table& SessionSetTable();
const Table& SessionSolverTable();
const Table& ApplicabilityTable();
const Table& JobTable();
const Table& GoldenTable();
const Table& GoldenStateTable();
const Table& GoldenEntryTable();
const Table& FigureTable();
const Table& FigureCountTable();  // One row, as kept_conditions has it.
const Table& WorkerTable();
const Table& PublisherTable();
const Table& ArtifactTable();
const Table& ArtifactChunkTable();
const Table& BuiltKernelTable();
const Table& TimelineTable();
inline constexpr int64_t kStoreIdentityRow = 1;
// Id of the row of bound_samples and of kept_conditions.
inline constexpr int64_t kBoundaryRow = 1;
// All of the above.
std::vector<const Table*> AllTables();

// "id, key, content" of the first `column_count` columns.
std::string ColumnList(const Table& table, size_t column_count);
std::vector<CellType> TypesOf(const Table& table, size_t column_count);

// The two sums over the cells before the checksum; `high` is the plain one.
Fingerprint ChecksumOf(const Table& table, std::span<const Cell> row);

// kDataLoss names table, row and column if a non-null cell is NULL, or if the checksum does not
// match.
Status CheckRow(const Table& table, std::span<const Cell> row);

// The failure "Row 7 of table t: column c holds 'v', ...".
Status DamagedCell(const Table& table, std::span<const Cell> row, size_t column,
                   std::string_view why);

// Takes the text of a cell that FreeText wrote; kDataLoss for any other text.
Status TakeFreeText(const Table& table, std::span<const Cell> row, size_t column,
                    std::string& text);

// Fills a row from left to right, the checksum by itself. REQUIRES: the types are those of the
// table.
class RowWriter {
 public:
  explicit RowWriter(const Table& table);

  RowWriter& Integer(int64_t value);
  RowWriter& Real(double value);
  RowWriter& Text(std::string_view value);
  RowWriter& Null();
  // REQUIRES: the next column is the checksum.
  RowWriter& Checksum();
  // REQUIRES: Checksum() was called.
  const Fingerprint& checksum() const { return checksum_; }

  Row Take() { return std::move(row_); }

 private:
  Cell& Next(CellType type);

  const Table& table_;
  Row row_;
  Fingerprint checksum_;
};

}  // namespace attune::sql
