#include "attune/library/command_file.h"

#include <utility>

#include <fmt/format.h>

namespace attune {

CommandList ReadCommands(std::string_view text) {
  CommandList list;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const std::string_view words = text.substr(0, end);
    auto command = ParseCommandLine(words);
    if (!command.ok()) {
      list.complaints.push_back(fmt::format("{}: {}", line, command.error().message()));
    } else if (!command->words.empty()) {
      list.commands.push_back({line, std::string(words), std::move(*command)});
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return list;
}

}  // namespace attune
