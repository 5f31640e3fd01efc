#include "attune/formats/driver_command.h"

#include <fmt/format.h>

#include "attune/formats/driver_other.h"
#include "attune/ops/driver_line.h"
#include "attune/ops/registry.h"

namespace attune {
bool CallsMiopenDriver(std::string_view line) {
  // Cheap test first: most lines of other formats do not have the word at all.
  return line.find("MIOpenDriver") != std::string_view::npos && NamesDriverProgram(line);
}

Parsed<std::vector<Problem>> ReadDriverCommand(std::string_view line) {
  const auto split = SplitDriverLine(line);
  if (!split) return tl::unexpected(split.error());
  const auto op = ParseDriverOperator(split->op.text);
  if (!op.has_value()) {
    return ErrorAtOffset(split->op.offset,
                         fmt::format("MIOpenDriver has no operator {}.", Quoted(split->op.text)));
  }
  for (const Operator* known : Operators()) {
    if (known->driver_verb() == op->name) return known->ReadDriver(*split, op->type);
  }
  return ReadDriverOther(*split, *op);
}

}  // namespace attune
