// Metrics that a kernel printed, read out of its text.
#pragma once

#include <string_view>

#include "attune/base/status.h"
#include "attune/trial/figure.h"

namespace attune {

// The numbers behind source.printed in `text`, reduced by source.reduction: each `NAME: 1.5`, `NAME
// = 1.5` or `NAME 1.5`. NAME and the number must be whole words in one line. A NAME with none of
// `:`, `=` and a number behind it is passed over. kUnavailable, with the text or its beginning, if
// there is none, if `:` or `=` precedes anything but a number, or if a number is NaN or infinite.
// REQUIRES: source.printed is a word.
Result<double> ReadPrintedFigure(const FigureSource& source, std::string_view text);

}  // namespace attune
