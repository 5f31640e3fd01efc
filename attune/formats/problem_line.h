// One line that describes problems, in any form that attune reads.
#pragma once

#include <string_view>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Longer lines are refused: no form needs such a length.
inline constexpr size_t kMaxLineBytes = 16 * 1024;

// Blank lines, comments ('#' first) and header lines of TunableOp results describe nothing and are
// no error in a list.
bool IsIgnoredLine(std::string_view line);

// A canonical problem text, a MIOpenDriver command or a TunableOp CSV line, recognized by its
// content; ignores blanks around it. Every problem is validated. Bytes other than printable ASCII
// and tabs are errors.
Parsed<std::vector<Problem>> ReadProblemLine(std::string_view line);

// The same for a user's argument, the column in the message.
Result<std::vector<Problem>> ParseProblems(std::string_view text);

// Returns the only problem, for callers that need exactly one. A MIOpenDriver command that names
// several directions is kInvalidArgument, with the right form in the message.
Result<Problem> OnlyProblem(std::vector<Problem> problems);

}  // namespace attune
