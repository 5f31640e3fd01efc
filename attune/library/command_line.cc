#include "attune/library/command_line.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kOperators = "|&;<>()";
constexpr std::string_view kEscapedInQuotes = "\\\"$`";

// Reads one line from its beginning to its end.
class WordReader {
 public:
  explicit WordReader(std::string_view line) : line_(line) {}

  Result<std::vector<std::string>> Read() {
    std::vector<std::string> words;
    for (SkipBlanks(); at_ < line_.size(); SkipBlanks()) {
      ATTUNE_ASSIGN_OR_RETURN(std::string word, ReadWord());
      words.push_back(std::move(word));
    }
    return words;
  }

 private:
  bool IsAt(std::string_view set) const { return set.find(line_[at_]) != std::string_view::npos; }
  void SkipBlanks() {
    while (at_ < line_.size() && IsAt(kBlanks)) ++at_;
  }

  Result<std::string> ReadWord() {
    std::string word;
    while (at_ < line_.size() && !IsAt(kBlanks)) {
      if (IsAt(kOperators)) {
        return InvalidArgument(
            fmt::format("'{}' at byte {} is of a shell, and no shell runs this; quote it, or write "
                        "sh -c '...'.",
                        line_[at_], at_ + 1));
      }
      const char byte = line_[at_];
      if (byte == '\'' || byte == '"') {
        ATTUNE_RETURN_IF_ERROR(ReadQuoted(byte, word));
      } else if (byte == '\\') {
        if (++at_ == line_.size()) return InvalidArgument("A backslash ends the line.");
        word += line_[at_++];
      } else {
        word += line_[at_++];
      }
    }
    return word;
  }

  Status ReadQuoted(char quote, std::string& word) {
    const size_t begin = at_++;
    while (at_ < line_.size() && line_[at_] != quote) {
      const bool is_escape = quote == '"' && line_[at_] == '\\' && at_ + 1 < line_.size() &&
                             kEscapedInQuotes.find(line_[at_ + 1]) != std::string_view::npos;
      if (is_escape) ++at_;
      word += line_[at_++];
    }
    if (at_ == line_.size()) {
      return InvalidArgument(fmt::format("The quote at byte {} is not closed.", begin + 1));
    }
    ++at_;
    return Status::Ok();
  }

  const std::string_view line_;
  size_t at_ = 0;
};

// Where the value begins, if `word` is NAME=VALUE; else 0.
size_t ValueIn(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return 0;
  const std::string_view name = word.substr(0, equals);
  const bool is_name = std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                       std::all_of(name.begin(), name.end(), [](unsigned char byte) {
                         return std::isalnum(byte) != 0 || byte == '_';
                       });
  return is_name ? equals + 1 : 0;
}

}  // namespace

Result<std::vector<std::string>> SplitWords(std::string_view line) {
  if (const size_t zero = line.find('\0'); zero != std::string_view::npos) {
    return InvalidArgument(fmt::format("Byte {} is 0, which no argument can hold.", zero + 1));
  }
  return WordReader(line).Read();
}

Result<CommandLine> ParseCommandLine(std::string_view line) {
  CommandLine command;
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos || line[begin] == '#') return command;
  ATTUNE_ASSIGN_OR_RETURN(command.words, SplitWords(line));
  auto program = command.words.begin();
  for (; program != command.words.end(); ++program) {
    const size_t value = ValueIn(*program);
    if (value == 0) break;
    command.variables[program->substr(0, value - 1)] = program->substr(value);
  }
  command.words.erase(command.words.begin(), program);
  if (command.words.empty()) return InvalidArgument("There is no program after the variables.");
  return command;
}

}  // namespace attune
