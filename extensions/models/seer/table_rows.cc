#include "extensions/models/seer/table_rows.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attune/base/told_time.h"

namespace attune::seer {
namespace {

Status CheckLayer(const Layer& layer, const CsvRow& row) {
  if (layer.w + 2 * layer.pad < layer.f)
    return WrongRow(row, "the filter is wider than the image.");
  if (layer.p == OutputWidth(layer)) return Status::Ok();
  return WrongRow(row,
                  fmt::format("the output is {} wide and not {}.", OutputWidth(layer), layer.p));
}

}  // namespace

Status WrongRow(const CsvRow& row, std::string_view what) {
  return InvalidArgument(fmt::format("Line {}: {}", row.line, what));
}

Result<Layer> LayerIn(const CsvRow& row, size_t first) {
  std::array<int64_t, 8> numbers = {};
  for (size_t i = 0; i < numbers.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(numbers[i], WholeIn(row, first + i, i == 7 ? 0 : 1, kMostExtent));
  }
  const auto [n, c, w, k, p, f, s, pad] = numbers;
  const Layer layer = {n, c, w, k, p, f, s, pad};
  ATTUNE_RETURN_IF_ERROR(CheckLayer(layer, row));
  return layer;
}

Result<std::vector<CsvRow>> DataRows(std::string_view csv, size_t number) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<CsvRow> rows, ReadCsvRows(csv));
  std::erase_if(rows, [](const CsvRow& row) { return row.fields[0].starts_with('#'); });
  if (!rows.empty() && (rows[0].fields.size() <= number || !NumberIn(rows[0], number).ok()))
    rows.erase(rows.begin());
  return rows;
}

Result<double> AboveZero(const CsvRow& row, size_t column) {
  ATTUNE_ASSIGN_OR_RETURN(const double value, NumberIn(row, column));
  if (value > 0) return value;
  return WrongRow(row, fmt::format("column {}: {} is not above 0.", column + 1, value));
}

Result<double> TimeIn(const CsvRow& row, size_t column) {
  constexpr double kNsInMs = 1e6;
  ATTUNE_ASSIGN_OR_RETURN(const double value, AboveZero(row, column));
  if (CanBeMeasured(value * kNsInMs)) return value;
  return WrongRow(row,
                  fmt::format("column {}: {} ms is not a measurable time.", column + 1, value));
}

CsvRow WordsOf(std::string_view line, size_t number) {
  CsvRow row{number, {}};
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty()) return row;
    const size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    row.fields.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::string LayerColumns(const Layer& x) {
  return fmt::format("{},{},{},{},{},{},{},{}", x.n, x.c, x.w, x.k, x.p, x.f, x.s, x.pad);
}

}  // namespace attune::seer
