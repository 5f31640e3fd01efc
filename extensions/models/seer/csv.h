// Comma-separated text of other programs: RFC 4180 without line ends inside of quotes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune {

struct CsvRow {
  size_t line = 0;  // 1-based.
  std::vector<std::string> fields;
};

// Every line that is not empty, with any number of fields. kInvalidArgument, with the line, for an
// unterminated quote and for text after a closing one.
Result<std::vector<CsvRow>> ReadCsvRows(std::string_view text);

// The lines below a line of column names.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;  // Each has one field per column.
};
Result<CsvTable> ReadCsv(std::string_view text);

// The positions of the columns called `names`. kInvalidArgument names a missing one.
Result<std::vector<size_t>> ColumnsOf(const CsvTable& table,
                                      const std::vector<std::string_view>& names);

// The finite number in a field; kInvalidArgument with the line and the 1-based column. REQUIRES:
// the row has that column.
Result<double> NumberIn(const CsvRow& row, size_t column);
// The same for a number of at least `least`.
Result<double> NumberIn(const CsvRow& row, size_t column, double least);
// The same for a whole number from `least` to `most`. REQUIRES: `most` is at most 2^53.
Result<int64_t> WholeIn(const CsvRow& row, size_t column, double least, double most);

}  // namespace attune
