#include "attune/verify/printed_figure.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "attune/base/text.h"

namespace attune {
namespace {

std::string_view WithoutBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// Returns true if `rest`, which is behind the digits of a number, continues it: "1.5ms", "1,000",
// "0x10".
bool ContinuesNumber(std::string_view rest) {
  if (rest.empty()) return false;
  if (rest[0] != ',') return IsPrintedWordByte(rest[0]);
  return rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9';
}

// That `text` begins with; NaN and infinity, which kernels print, are numbers here.
std::optional<double> NumberAt(std::string_view text) {
  const bool has_plus = text.starts_with('+');
  if (has_plus) text.remove_prefix(1);
  if (has_plus && text.starts_with('-')) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  if (ContinuesNumber(text.substr(static_cast<size_t>(rest - text.data())))) return std::nullopt;
  return value;
}

// The line that begins where `text` does.
std::string_view LineAt(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<double> ReadPrintedFigure(const FigureSource& source, std::string_view text) {
  const std::string_view name = source.printed;
  std::optional<double> figure;
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + name.size())) {
    std::string_view rest = text.substr(at + name.size());
    const bool is_word = (at == 0 || !IsPrintedWordByte(text[at - 1])) &&
                         (rest.empty() || !IsPrintedWordByte(rest[0]));
    if (!is_word) continue;
    rest = WithoutBlanks(rest);
    const bool is_said = rest.starts_with(':') || rest.starts_with('=');
    if (is_said) rest = WithoutBlanks(rest.substr(1));
    const std::optional<double> number = NumberAt(rest);
    if (!number.has_value() && !is_said) continue;
    if (!number.has_value() || !std::isfinite(*number)) {
      return Unavailable(fmt::format("The figure '{}' is no number where '{}' was printed.",
                                     Text(source), Excerpt(LineAt(text.substr(at)))));
    }
    figure = figure.has_value() ? Reduced(source.reduction, *figure, *number) : *number;
  }
  if (!figure.has_value()) {
    return Unavailable(fmt::format(
        "The figure '{}' is not there: {}.", Text(source),
        text.empty() ? "nothing was printed" : fmt::format("'{}' was printed", Excerpt(text))));
  }
  if (std::isfinite(*figure)) return *figure;
  return Unavailable(fmt::format("The figure '{}' is {}.", Text(source), *figure));
}

}  // namespace attune
