// What the readers of SEER's tables share: lines with a layer among their columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/seer_layer.h"
#include "extensions/models/seer/csv.h"

namespace attune::seer {

// The largest extent that is read.
inline constexpr double kMostExtent = 1 << 20;

// "Line N: <what>", kInvalidArgument.
Status WrongRow(const CsvRow& row, std::string_view what);

// The lines of `csv` without comments (#), and without the first one if that names columns: where
// the column `number`, which has numbers in every other line, has none.
Result<std::vector<CsvRow>> DataRows(std::string_view csv, size_t number = 0);

// REQUIRES, for all functions: the row has the columns.
Result<double> AboveZero(const CsvRow& row, size_t column);
// Reads a time in milliseconds. Fails if no measurement can give it.
Result<double> TimeIn(const CsvRow& row, size_t column);
// N, C, W, K, P, f, s and p from the column `first` on. kInvalidArgument for extents below 1 and an
// output width that does not follow.
Result<Layer> LayerIn(const CsvRow& row, size_t first = 0);

// The words of a line that blanks divide, as a row.
CsvRow WordsOf(std::string_view line, size_t number);

// The eight columns of a layer, with commas between them.
std::string LayerColumns(const Layer& layer);

}  // namespace attune::seer
