#include "attune/trial/figure.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr std::array<std::string_view, 2> kDirections = {"minimize", "maximize"};
constexpr std::array<std::string_view, 4> kReductions = {"first", "max", "min", "sum"};

template <class Kind, size_t kCount>
std::optional<Kind> ParseOf(const std::array<std::string_view, kCount>& names,
                            std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Kind>(std::distance(names.begin(), found));
}

constexpr std::string_view kWorkspace = "workspace";

std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0) return std::nullopt;
  return value;
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

std::string Text(const FigureSource& source) {
  return fmt::format("{} {} {} {} {}", source.operand.empty() ? kWorkspace : source.operand,
                     Name(source.type), source.first, source.count, Name(source.reduction));
}

Result<FigureSource> ParseFigureSource(std::string_view text) {
  std::array<std::string_view, 5> words;
  std::string_view rest = text;
  for (std::string_view& word : words) {
    const size_t end = std::min(rest.find(' '), rest.size());
    word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto type = ParseDataType(words[1]);
  const auto first = ParseCount(words[2]);
  const auto count = ParseCount(words[3]);
  const auto reduction = ParseReduction(words[4]);
  const bool is_good = !words[0].empty() && rest.empty() && type && first && count && reduction;
  if (!is_good || *count < 1) {
    return InvalidArgument(fmt::format("'{}' is no source of a figure.", text));
  }
  FigureSource source;
  if (words[0] != kWorkspace) source.operand = words[0];
  source.type = *type;
  source.first = *first;
  source.count = *count;
  source.reduction = *reduction;
  return source;
}

Objective TimeObjective() { return {std::string(kTimeObjective), Direction::kMinimize, "ns"}; }

Objective EnergyObjective() { return {std::string(kEnergyObjective), Direction::kMinimize, "J"}; }

}  // namespace attune
