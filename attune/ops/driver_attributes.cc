#include "attune/ops/driver_attributes.h"

#include <cmath>

#include <fmt/format.h>

#include "attune/problem/limits.h"

namespace attune {
namespace {

using Kind = AttributeFlag::Kind;

bool IsIgnored(Kind kind) { return kind == Kind::kIgnoredInteger || kind == Kind::kIgnoredText; }

bool IsAmong(std::string_view words, std::string_view text) {
  size_t at = 0;
  for (DriverToken word = NextDriverToken(words, &at); !word.empty();
       word = NextDriverToken(words, &at)) {
    if (word.text == text) return true;
  }
  return false;
}

// One spelling for each value: "007" is 7, "1.0" is 1, and layouts are lower case. Nothing if
// `flag` does not take `text`.
std::optional<std::string> CanonicalValue(const AttributeFlag& flag, std::string_view text) {
  int64_t integer = 0;
  double real = 0;
  switch (flag.kind) {
    case Kind::kInteger:
      if (!ReadDriverInteger(text, flag.low, flag.high, integer)) return std::nullopt;
      return std::to_string(integer);
    case Kind::kSwitch:
      if (!ReadDriverInteger(text, std::numeric_limits<int32_t>::min(), kMaxDriverInteger,
                             integer)) {
        return std::nullopt;
      }
      return integer == 0 ? "0" : "1";
    case Kind::kReal:
      if (!ReadDriverReal(text, real) || !std::isfinite(real)) return std::nullopt;
      return fmt::format("{}", real);
    case Kind::kLayout:
      if (!IsAmong(flag.words, LowerCase(text))) return std::nullopt;
      return LowerCase(text);
    case Kind::kWord:
      if (!IsAmong(flag.words, text)) return std::nullopt;
      return std::string(text);
    case Kind::kIgnoredInteger:
      if (!IsDriverInteger(text)) return std::nullopt;
      return std::string(text);
    case Kind::kText:
    case Kind::kIgnoredText:
      return std::string(text);
  }
  return std::nullopt;
}

std::string ExpectedOf(const AttributeFlag& flag) {
  switch (flag.kind) {
    case Kind::kInteger:
      return fmt::format("an integer in [{}, {}]", flag.low, flag.high);
    case Kind::kReal:
      return "a finite number";
    case Kind::kWord:
    case Kind::kLayout:
      return fmt::format("one of {}", flag.words);
    default:
      return std::string(kAnyInteger);
  }
}

}  // namespace

Parsed<Attributes> ReadAttributes(const DriverLine& line, std::span<const AttributeFlag> flags) {
  Attributes attributes;
  for (const AttributeFlag& flag : flags) {
    if (IsIgnored(flag.kind) || flag.fallback.empty()) continue;
    attributes[std::string(flag.name)] = std::string(flag.fallback);
  }
  for (const DriverFlag& given : line.flags) {
    const AttributeFlag* const flag = FindFlagRule(flags, given);
    if (flag == nullptr) return UnknownFlag(line, given);
    auto value = CanonicalValue(*flag, given.value.text);
    if (!value.has_value()) return BadFlagValue(given, ExpectedOf(*flag));
    if (!IsIgnored(flag->kind)) attributes[std::string(flag->name)] = *std::move(value);
  }
  return attributes;
}

int64_t IntegerOf(const Attributes& attributes, const std::string& name) {
  int64_t value = 0;
  ReadDriverInteger(attributes.at(name), 0, kMaxDriverInteger, value);
  return value;
}

bool HasTooManyElements(std::span<const int64_t> extents) {
  int64_t elements = 1;
  for (const int64_t extent : extents) {
    if (extent > kMaxOperandElements / elements) return true;
    elements *= extent;
  }
  return false;
}

tl::unexpected<TextError> TooManyElements(size_t offset) {
  return ErrorAtOffset(offset,
                       fmt::format("The tensor has more than {} elements; smaller sizes are taken.",
                                   kMaxOperandElements));
}

}  // namespace attune
