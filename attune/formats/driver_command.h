// MIOpenDriver command lines: `./bin/MIOpenDriver conv -n 128 -c 64 ...`. Grammar, flags and
// defaults are MIOpenDriver's own; docs/formats/lists.md lists them and the stricter rules of this
// reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Returns true if a word of `line` is the program MIOpenDriver, with or without a path before it.
bool CallsMiopenDriver(std::string_view line);

// The problems that the command runs, each validated: one for each direction of a convolution (all
// three with -F 0 or without -F), one for any other operator. Commands that an operator cannot
// express become an OtherOp, so that they are imported as unsupported. Unknown flags, malformed
// values and impossible sizes are errors.
Parsed<std::vector<Problem>> ReadDriverCommand(std::string_view line);

}  // namespace attune
