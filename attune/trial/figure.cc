#include "attune/trial/figure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/split.h"

namespace attune {
namespace {

constexpr std::array<std::string_view, 2> kDirections = {"minimize", "maximize"};
constexpr std::array<std::string_view, 5> kReductions = {"first", "max", "min", "sum", "last"};

template <class Kind, size_t kCount>
std::optional<Kind> ParseOf(const std::array<std::string_view, kCount>& names,
                            std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Kind>(std::distance(names.begin(), found));
}

constexpr std::string_view kWorkspace = "workspace";
constexpr std::string_view kPrinted = "printed";

std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
}

bool IsLetter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// Nothing if `words` name no element of an operand or of the workspace.
std::optional<FigureSource> WrittenSource(const std::vector<std::string_view>& words) {
  if (words.size() != 5 || words[0].empty()) return std::nullopt;
  const auto type = ParseDataType(words[1]);
  const auto first = ParseCount(words[2]);
  const auto count = ParseCount(words[3]);
  const auto reduction = ParseReduction(words[4]);
  if (!type || !first || !count || !reduction || *count < 1) return std::nullopt;
  FigureSource source;
  if (words[0] != kWorkspace) source.operand = words[0];
  source.type = *type;
  source.first = *first;
  source.count = *count;
  source.reduction = *reduction;
  return source;
}

std::optional<FigureSource> PrintedSource(const std::vector<std::string_view>& words) {
  if (words.size() != 3 || words[0] != kPrinted || !IsPrintedWord(words[1])) return std::nullopt;
  const auto reduction = ParseReduction(words[2]);
  if (!reduction) return std::nullopt;
  FigureSource source;
  source.reduction = *reduction;
  source.printed = words[1];
  return source;
}

}  // namespace

std::string_view Name(Direction direction) { return kDirections[static_cast<size_t>(direction)]; }

std::optional<Direction> ParseDirection(std::string_view name) {
  return ParseOf<Direction>(kDirections, name);
}

std::string_view Name(FigureSource::Reduction reduction) {
  return kReductions[static_cast<size_t>(reduction)];
}

std::optional<FigureSource::Reduction> ParseReduction(std::string_view name) {
  return ParseOf<FigureSource::Reduction>(kReductions, name);
}

double Reduced(FigureSource::Reduction reduction, double so_far, double next) {
  switch (reduction) {
    case FigureSource::Reduction::kFirst:
      return so_far;
    case FigureSource::Reduction::kMax:
      return std::max(so_far, next);
    case FigureSource::Reduction::kMin:
      return std::min(so_far, next);
    case FigureSource::Reduction::kSum:
      return so_far + next;
    case FigureSource::Reduction::kLast:
      return next;
  }
  return so_far;
}

bool IsPrintedWordByte(char byte) {
  // Bytes outside of ASCII are part of a letter.
  return IsLetter(byte) || (byte >= '0' && byte <= '9') || byte == '/' || byte == '.' ||
         byte == '-' || static_cast<unsigned char>(byte) >= 0x80;
}

bool IsPrintedWord(std::string_view word) {
  return !word.empty() && IsLetter(word[0]) && std::all_of(word.begin(), word.end(), [](char byte) {
    return IsPrintedWordByte(byte) && static_cast<unsigned char>(byte) < 0x80;
  });
}

std::string Text(const FigureSource& source) {
  if (!source.printed.empty()) {
    return fmt::format("{} {} {}", kPrinted, source.printed, Name(source.reduction));
  }
  return fmt::format("{} {} {} {} {}", source.operand.empty() ? kWorkspace : source.operand,
                     Name(source.type), source.first, source.count, Name(source.reduction));
}

Result<FigureSource> ParseFigureSource(std::string_view text) {
  const std::vector<std::string_view> words = SplitAt(text, ' ');
  if (auto source = PrintedSource(words)) return *std::move(source);
  if (auto source = WrittenSource(words)) return *std::move(source);
  return InvalidArgument(fmt::format("'{}' is no source of a figure.", text));
}

Objective TimeObjective() { return {std::string(kTimeObjective), Direction::kMinimize, "ns"}; }

Objective EnergyObjective() { return {std::string(kEnergyObjective), Direction::kMinimize, "J"}; }

}  // namespace attune
