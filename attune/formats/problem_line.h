// One line that describes problems, in any form that attune reads.
#pragma once

#include <string_view>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

// Longer lines are refused: no form comes near.
inline constexpr size_t kMaxLineBytes = 16 * 1024;

// Blank lines, comments ('#' first) and header lines of TunableOp results describe nothing and are
// no error in a list.
bool IsIgnoredLine(std::string_view line);

// A canonical problem text, a MIOpenDriver command or a TunableOp CSV line, told apart by its
// content; blanks around it do not count. Every problem is validated. Bytes other than printable
// ASCII and tabs are errors.
Parsed<std::vector<Problem>> ReadProblemLine(std::string_view line);

// The same for a user's argument, the column in the message.
Result<std::vector<Problem>> ParseProblems(std::string_view text);

// The only one, where one alone makes sense. A MIOpenDriver command that names several directions
// is kInvalidArgument, with what to write instead.
Result<Problem> OnlyProblem(std::vector<Problem> problems);

}  // namespace attune
