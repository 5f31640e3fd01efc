#include "attune/formats/problem_line.h"

#include <fmt/format.h>

#include "attune/formats/driver_command.h"
#include "attune/formats/tunable_names.h"

namespace attune {
namespace {

constexpr std::string_view kBlanks = " \t";

// The position of the first byte that is invalid in every line.
size_t FindForeignByte(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if ((line[i] < ' ' || line[i] > '~') && line[i] != '\t') return i;
  }
  return std::string_view::npos;
}

// operator@version{...
bool LooksCanonical(std::string_view line) {
  const size_t at = line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  return at != 0 && at != std::string_view::npos && line[at] == '@';
}

Parsed<std::vector<Problem>> ReadTrimmed(std::string_view line) {
  if (LooksCanonical(line)) {
    auto problem = ReadProblem(line);
    if (!problem) return tl::unexpected(problem.error());
    return std::vector<Problem>{std::move(*problem)};
  }
  if (IsTunableLine(line)) {
    auto named = ReadTunableLine(line);
    if (!named) return tl::unexpected(named.error());
    return std::vector<Problem>{std::move(named->problem)};
  }
  if (CallsMiopenDriver(line)) return ReadDriverCommand(line);
  return ErrorAtOffset(0, fmt::format("{} is neither a problem (gemm@1{{...}}), nor a MIOpenDriver "
                                      "command, nor a line of a TunableOp file.",
                                      Quoted(line)));
}

}  // namespace

bool IsIgnoredLine(std::string_view line) {
  const size_t first = line.find_first_not_of(kBlanks);
  return first == std::string_view::npos || line[first] == '#' ||
         IsTunableOpValidator(line.substr(first));
}

Parsed<std::vector<Problem>> ReadProblemLine(std::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return ErrorAtOffset(kMaxLineBytes, fmt::format("The line has {} bytes, more than {}.",
                                                    line.size(), kMaxLineBytes));
  }
  if (const size_t place = FindForeignByte(line); place != std::string_view::npos) {
    return ErrorAtOffset(
        place, fmt::format("Byte {} is not printable ASCII.", Quoted(line.substr(place, 1))));
  }
  const size_t first = line.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return ErrorAtOffset(0, "The line is blank.");
  const size_t last = line.find_last_not_of(kBlanks);
  auto problems = ReadTrimmed(line.substr(first, last - first + 1));
  if (!problems) {
    TextError error = problems.error();
    error.column += first;
    return tl::unexpected(std::move(error));
  }
  return problems;
}

Result<std::vector<Problem>> ParseProblems(std::string_view text) {
  auto problems = ReadProblemLine(text);
  if (!problems) {
    return ToStatus(problems.error()).WithContext(fmt::format("Problem {}", Quoted(text)));
  }
  return std::move(*problems);
}

Result<Problem> OnlyProblem(std::vector<Problem> problems) {
  if (problems.size() == 1) return std::move(problems.front());
  std::string list;
  for (const Problem& problem : problems)
    list += fmt::format("{} '{}'", list.empty() ? "" : ",", Text(problem));
  return InvalidArgument(fmt::format(
      "The command line means {} problems, and this takes one. Add -F 1 (forward), -F 2 (backward "
      "data) or -F 4 (backward weights), or take one of these texts:{}",
      problems.size(), list));
}

}  // namespace attune
