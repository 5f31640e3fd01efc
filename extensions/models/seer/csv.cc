#include "extensions/models/seer/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "attune/base/text.h"

namespace attune {
namespace {

// Removes the field at the beginning of `line`, and its quotes.
Result<std::string> TakeField(std::string_view& line) {
  if (!line.starts_with('"')) {
    const size_t end = std::min(line.find(','), line.size());
    std::string field(line.substr(0, end));
    line.remove_prefix(end);
    return field;
  }
  std::string field;
  size_t i = 1;
  for (; i < line.size(); ++i) {
    if (line[i] != '"') {
      field += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '"') {
      field += line[i++];
    } else {
      break;
    }
  }
  if (i >= line.size()) return InvalidArgument("A quote does not end on this line.");
  line.remove_prefix(i + 1);
  if (!line.empty() && line.front() != ',') {
    return InvalidArgument("Behind a quote there is something else than a comma.");
  }
  return field;
}

Result<std::vector<std::string>> FieldsOf(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    ATTUNE_ASSIGN_OR_RETURN(std::string field, TakeField(line));
    fields.push_back(std::move(field));
    if (line.empty()) return fields;
    line.remove_prefix(1);  // The comma.
  }
}

}  // namespace

Result<std::vector<CsvRow>> ReadCsvRows(std::string_view text) {
  std::vector<CsvRow> rows;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    auto fields = FieldsOf(line);
    if (!fields.ok()) return fields.status().WithContext(fmt::format("Line {}", number));
    rows.push_back({number, *std::move(fields)});
  }
  return rows;
}

Result<CsvTable> ReadCsv(std::string_view text) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<CsvRow> rows, ReadCsvRows(text));
  if (rows.empty()) return InvalidArgument("A table needs a line that names its columns.");
  CsvTable table;
  table.columns = std::move(rows.front().fields);
  rows.erase(rows.begin());
  for (const CsvRow& row : rows) {
    if (row.fields.size() == table.columns.size()) continue;
    return InvalidArgument(fmt::format("Line {}: {} fields, where the first line names {}.",
                                       row.line, row.fields.size(), table.columns.size()));
  }
  table.rows = std::move(rows);
  return table;
}

Result<std::vector<size_t>> ColumnsOf(const CsvTable& table,
                                      const std::vector<std::string_view>& names) {
  std::vector<size_t> positions;
  for (const std::string_view name : names) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), name);
    if (found == table.columns.end()) {
      return InvalidArgument(fmt::format("No column is called '{}'.", name));
    }
    positions.push_back(static_cast<size_t>(found - table.columns.begin()));
  }
  return positions;
}

Result<double> NumberIn(const CsvRow& row, size_t column) {
  const std::string& text = row.fields[column];
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return InvalidArgument(
        fmt::format("Line {}, column {}: '{}' is no number.", row.line, column + 1, Excerpt(text)));
  }
  return value;
}

Result<double> NumberIn(const CsvRow& row, size_t column, double least) {
  ATTUNE_ASSIGN_OR_RETURN(const double value, NumberIn(row, column));
  if (value >= least) return value;
  return InvalidArgument(
      fmt::format("Line {}, column {}: {} is below {}.", row.line, column + 1, value, least));
}

Result<int64_t> WholeIn(const CsvRow& row, size_t column, double least, double most) {
  ATTUNE_ASSIGN_OR_RETURN(const double value, NumberIn(row, column, least));
  if (value <= most && value == std::floor(value)) return static_cast<int64_t>(value);
  return InvalidArgument(fmt::format("Line {}: column {}: {} is no whole number up to {}.",
                                     row.line, column + 1, value, most));
}

}  // namespace attune
