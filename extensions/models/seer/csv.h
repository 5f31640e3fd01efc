// Comma-separated text as others write it: RFC 4180 without line ends inside of quotes.
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

// Every line that is not empty, whatever its number of fields. kInvalidArgument, with the line, for
// a quote that does not end there, and for text behind one.
Result<std::vector<CsvRow>> ReadCsvRows(std::string_view text);

// Lines below one that names their columns.
struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;  // Each has as many fields as there are columns.
};
Result<CsvTable> ReadCsv(std::string_view text);

// The positions of the columns called `names`. kInvalidArgument names one that is not there.
Result<std::vector<size_t>> ColumnsOf(const CsvTable& table,
                                      const std::vector<std::string_view>& names);

// The finite number in a field; kInvalidArgument with the line and the 1-based column. REQUIRES:
// the row has that column.
Result<double> NumberIn(const CsvRow& row, size_t column);
// The same for a number that has to be at least `least`.
Result<double> NumberIn(const CsvRow& row, size_t column, double least);
// The same for a whole number from `least` to `most`. REQUIRES: `most` is at most 2^53.
Result<int64_t> WholeIn(const CsvRow& row, size_t column, double least, double most);

}  // namespace attune
