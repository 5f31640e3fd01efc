// Shared by the readers of SEER's tables: lines with a layer among their columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/seer_layer.h"
#include "extensions/models/seer/csv.h"

namespace attune::seer {

// The largest readable extent.
inline constexpr double kMostExtent = 1 << 20;

// kInvalidArgument: "Line N: " followed by `what`.
Status WrongRow(const CsvRow& row, std::string_view what);

// The lines of `csv` without comments (#), and without a first line of column names. That line has
// no number in the column `number`; all others have.
Result<std::vector<CsvRow>> DataRows(std::string_view csv, size_t number = 0);

// REQUIRES, for all functions: the row has the columns.
Result<double> AboveZero(const CsvRow& row, size_t column);
// Reads a time in milliseconds. Fails if no measurement can give it.
Result<double> TimeIn(const CsvRow& row, size_t column);
// N, C, W, K, P, f, s and p from the column `first` on. kInvalidArgument for extents below 1 and an
// inconsistent output width.
Result<Layer> LayerIn(const CsvRow& row, size_t first = 0);

// The words of a line, separated by blanks, as a row.
CsvRow WordsOf(std::string_view line, size_t number);

// The eight columns of a layer, separated by commas.
std::string LayerColumns(const Layer& layer);

}  // namespace attune::seer
