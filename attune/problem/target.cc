#include "attune/problem/target.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "attune/problem/escaping.h"
#include "attune/problem/text_error.h"

namespace attune {
namespace {

constexpr int kMaxComputeUnits = 1 << 24;

using Properties = std::map<std::string, std::string>;

void AppendPair(const std::string& key, const std::string& value, std::string& text) {
  AppendEscaped(key, text);
  text += '=';
  AppendEscaped(value, text);
}

tl::unexpected<TextError> BadEscape(size_t offset, std::string_view part) {
  return ErrorAtOffset(
      offset, fmt::format("{} has a character that must be escaped as %XX.", Quoted(part)));
}

// Reads `key=value` out of text[begin, end) into `properties`.
std::optional<TextError> ReadPair(std::string_view text, size_t begin, size_t end,
                                  Properties& properties) {
  const std::string_view pair = text.substr(begin, end - begin);
  const size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return TextError{begin + 1, fmt::format("Expected key=value here, found {}.", Quoted(pair))};
  }
  auto key = Unescaped(pair.substr(0, equals));
  if (!key.has_value()) return BadEscape(begin, pair.substr(0, equals)).value();
  auto value = Unescaped(pair.substr(equals + 1));
  if (!value.has_value()) return BadEscape(begin + equals + 1, pair.substr(equals + 1)).value();
  if (!properties.emplace(std::move(*key), std::move(*value)).second) {
    return TextError{begin + 1,
                     fmt::format("Key {} is given twice.", Quoted(pair.substr(0, equals)))};
  }
  return std::nullopt;
}

// Reads pairs parted by `separator` out of text[begin, end).
std::optional<TextError> ReadPairs(std::string_view text, size_t begin, size_t end, char separator,
                                   Properties& properties) {
  while (begin < end) {
    const size_t stop = std::min(text.find(separator, begin), end);
    if (auto error = ReadPair(text, begin, stop, properties)) return error;
    begin = stop + 1;
  }
  return std::nullopt;
}

Parsed<int> ReadComputeUnits(std::string_view text, size_t begin, size_t end) {
  int value = 0;
  const char* const last = text.data() + end;
  const auto [stop, error] = std::from_chars(text.data() + begin, last, value);
  if (error == std::errc() && stop == last && value >= 0 && value <= kMaxComputeUnits) return value;
  return ErrorAtOffset(begin,
                       fmt::format("Number of compute units {} is not in [0, {}].",
                                   Quoted(text.substr(begin, end - begin)), kMaxComputeUnits));
}

Parsed<Target> ReadTarget(std::string_view text) {
  Target target;
  size_t begin = 0;
  for (std::string* const part : {&target.backend, &target.device, &target.arch}) {
    const size_t colon = text.find(':', begin);
    if (colon == std::string_view::npos) {
      return ErrorAtOffset(
          begin, "Expected ':' after this; the form is backend:device:arch:units{key=value,...}.");
    }
    auto value = Unescaped(text.substr(begin, colon - begin));
    if (!value.has_value()) return BadEscape(begin, text.substr(begin, colon - begin));
    *part = std::move(*value);
    begin = colon + 1;
  }
  const size_t open = text.find('{', begin);
  if (open == std::string_view::npos || text.back() != '}') {
    return ErrorAtOffset(begin, "Expected a number and {key=value,...} here.");
  }
  const auto units = ReadComputeUnits(text, begin, open);
  if (!units) return tl::unexpected(units.error());
  target.compute_units = *units;
  if (auto error = ReadPairs(text, open + 1, text.size() - 1, ',', target.properties)) {
    return tl::unexpected(*error);
  }
  return target;
}

}  // namespace

std::string Text(const Target& target) {
  std::string text;
  for (const std::string* const part : {&target.backend, &target.device, &target.arch}) {
    AppendEscaped(*part, text);
    text += ':';
  }
  text += std::to_string(target.compute_units);
  text += '{';
  for (const auto& [key, value] : target.properties) {
    if (text.back() != '{') text += ',';
    AppendPair(key, value, text);
  }
  text += '}';
  return text;
}

Result<Target> ParseTarget(std::string_view text) {
  auto target = ReadTarget(text);
  if (!target) return ToStatus(target.error()).WithContext(fmt::format("Target {}", Quoted(text)));
  return std::move(*target);
}

std::string Text(const Environment& environment) {
  std::string text;
  for (const auto& [key, value] : environment) {
    AppendPair(key, value, text);
    text += '\n';
  }
  return text;
}

Result<Environment> ParseEnvironment(std::string_view text) {
  Environment environment;
  if (auto error = ReadPairs(text, 0, text.size(), '\n', environment)) {
    return ToStatus(*error).WithContext(fmt::format("Environment {}", Quoted(text)));
  }
  return environment;
}

}  // namespace attune
