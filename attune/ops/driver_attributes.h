// Flags of MIOpenDriver as attributes: every flag that changes the problem has one canonical
// spelling.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "attune/ops/driver_line.h"
#include "attune/problem/text_error.h"

namespace attune {

inline constexpr int64_t kMaxDriverInteger = std::numeric_limits<int32_t>::max();

// One flag: its names, its accepted values, and the driver's default.
struct AttributeFlag {
  enum class Kind {
    kInteger,         // In [low, high].
    kSwitch,          // An integer; anything but 0 is 1.
    kReal,            // Finite.
    kWord,            // One of `words`, which are separated by blanks.
    kLayout,          // The same, in any case; kept in lower case.
    kText,            // Checked by the reader of the operator.
    kIgnoredInteger,  // About execution, not the problem: checked and dropped.
    kIgnoredText,
  };

  char letter;
  std::string_view name;
  Kind kind;
  std::string_view fallback;  // Empty: no attribute without the flag.
  int64_t low = 0;
  int64_t high = kMaxDriverInteger;
  std::string_view words = {};
};

// A size: 1 or more.
constexpr AttributeFlag ExtentFlag(char letter, std::string_view name, std::string_view fallback) {
  return {letter, name, AttributeFlag::Kind::kInteger, fallback, 1};
}
constexpr AttributeFlag IntegerFlag(char letter, std::string_view name, std::string_view fallback,
                                    int64_t high = kMaxDriverInteger) {
  return {letter, name, AttributeFlag::Kind::kInteger, fallback, 0, high};
}
constexpr AttributeFlag WordFlag(char letter, std::string_view name, std::string_view fallback,
                                 std::string_view words) {
  return {letter, name, AttributeFlag::Kind::kWord, fallback, 0, 0, words};
}
constexpr AttributeFlag IgnoredFlag(
    char letter, std::string_view name,
    AttributeFlag::Kind kind = AttributeFlag::Kind::kIgnoredInteger) {
  return {letter, name, kind, ""};
}

using Attributes = std::map<std::string, std::string>;

// The flags of `line` and the defaults of the others. The last of a repeated flag counts.
Parsed<Attributes> ReadAttributes(const DriverLine& line, std::span<const AttributeFlag> flags);

// The value of an integer that ReadAttributes() has read.
int64_t IntegerOf(const Attributes& attributes, const std::string& name);

// True if a tensor of `extents`, each at least 1, has more elements than an operand of any problem.
bool HasTooManyElements(std::span<const int64_t> extents);
tl::unexpected<TextError> TooManyElements(size_t offset);

}  // namespace attune
