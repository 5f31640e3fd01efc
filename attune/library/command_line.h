// A command as a line of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/base/process_variables.h"
#include "attune/base/status.h"

namespace attune {

// Words as a POSIX shell has them: split at blanks; '...' keeps everything, "..." all but a
// backslash before one of \ " $ `, a backslash elsewhere the next character. Nothing is expanded,
// and no word is an operator: pipes and redirections are refused, because they would be taken for
// arguments. kInvalidArgument says at which byte (from 1).
Result<std::vector<std::string>> SplitWords(std::string_view line);

struct CommandLine {
  ProcessVariables variables;      // NAME=VALUE words before the program.
  std::vector<std::string> words;  // The program and its arguments.
};
// Empty words for a line that is blank, or a remark ('#').
Result<CommandLine> ParseCommandLine(std::string_view line);

}  // namespace attune
