// Figures that a kernel printed, read out of its text.
#pragma once

#include <string_view>

#include "attune/base/status.h"
#include "attune/trial/figure.h"

namespace attune {

// What stands behind source.printed in `text`, put together as source.reduction says: each
// `NAME: 1.5`, `NAME = 1.5` or `NAME 1.5` where NAME is a whole word, the number too, and both are
// in one line. A NAME with none of `:`, `=` and a number behind it is passed over. kUnavailable,
// with the text or its beginning, if there is none, if one has something else than a number behind
// `:` or `=`, or is NaN or infinite. REQUIRES: source.printed is a word.
Result<double> ReadPrintedFigure(const FigureSource& source, std::string_view text);

}  // namespace attune
