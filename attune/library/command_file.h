// A file of commands, one on each line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attune/library/command_line.h"

namespace attune {

struct ListedCommand {
  int line = 0;  // From 1.
  std::string text;
  CommandLine command;
};

struct CommandList {
  std::vector<ListedCommand> commands;
  std::vector<std::string> complaints;  // "LINE: reason" of lines that mean nothing.
};
CommandList ReadCommands(std::string_view text);

}  // namespace attune
