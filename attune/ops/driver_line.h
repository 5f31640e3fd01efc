// A MIOpenDriver command taken apart into operator and flags, as its own argument reader does it.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/problem.h"
#include "attune/problem/text_error.h"

namespace attune {

struct DriverToken {
  std::string_view text;
  size_t offset = 0;  // In the line.

  bool empty() const { return text.empty(); }
};

// The next token of `line` at or after `*at`, which moves behind it; empty at the end.
DriverToken NextDriverToken(std::string_view line, size_t* at);

// A flag with its value: `-n 5`, `--batchsize 5`. Every flag takes one.
struct DriverFlag {
  DriverToken flag;
  DriverToken value;

  bool is_long() const { return flag.text.starts_with("--"); }
  std::string_view long_name() const { return flag.text.substr(2); }
  char letter() const { return flag.text[1]; }
};

struct DriverLine {
  DriverToken op;  // "conv", "poolfp16", ...
  std::vector<DriverFlag> flags;
};

// True if a token of `line` is the program.
bool NamesDriverProgram(std::string_view line);

// Finds the program in a line and splits the rest. Any words may precede the program.
Parsed<DriverLine> SplitDriverLine(std::string_view line);

// "convbfp16" -> {"conv", "bf16"}. The type is a word because some of MIOpen's are not ours.
struct DriverOperator {
  std::string_view name;
  std::string_view type;
};
std::optional<DriverOperator> ParseDriverOperator(std::string_view op);

// The rule to read the value of one flag into a T.
template <class T>
struct DriverFlagRule {
  char letter;
  std::string_view name;
  bool (*read)(std::string_view value, T& target);
  std::string_view expected;
};

tl::unexpected<TextError> UnknownFlag(const DriverLine& line, const DriverFlag& flag);
tl::unexpected<TextError> BadFlagValue(const DriverFlag& flag, std::string_view expected);

// The rule for `flag`, or null. A Rule has a `letter` and a `name`.
template <class Rule>
const Rule* FindFlagRule(std::span<const Rule> rules, const DriverFlag& flag) {
  for (const Rule& rule : rules) {
    if (flag.is_long() ? rule.name == flag.long_name() : rule.letter == flag.letter()) return &rule;
  }
  return nullptr;
}

// Reads every flag into `target`; the last of a repeated flag counts, as in MIOpenDriver.
template <class T>
Parsed<T> ReadFlags(const DriverLine& line, std::span<const DriverFlagRule<T>> rules, T target) {
  for (const DriverFlag& flag : line.flags) {
    const DriverFlagRule<T>* const rule = FindFlagRule(rules, flag);
    if (rule == nullptr) return UnknownFlag(line, flag);
    if (!rule->read(flag.value.text, target)) return BadFlagValue(flag, rule->expected);
  }
  return target;
}

// `text` without the '+' of a positive number, which std::from_chars does not take.
inline std::string_view WithoutPlus(std::string_view text) {
  const bool positive = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return positive ? text.substr(1) : text;
}

// An integer of 32 bits, all of `text`: digits, before them a sign or nothing, behind them nothing
// or a point with any number of zeros. The driver's own reader, atoi, stops at the first non-digit;
// this accepts only texts with one value either way: "1." and "1.0" but not "1.5".
inline bool ReadDriverInteger(std::string_view text, int64_t low, int64_t high, int64_t& value) {
  text = WithoutPlus(text);
  int32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < low || number > high) return false;
  const std::string_view rest = text.substr(static_cast<size_t>(stop - text.data()));
  const bool whole =
      rest.empty() || (rest[0] == '.' && rest.find_first_not_of('0', 1) == rest.npos);
  if (whole) value = number;
  return whole;
}

inline bool IsDriverInteger(std::string_view text) {
  int64_t ignored = 0;
  return ReadDriverInteger(text, std::numeric_limits<int32_t>::min(),
                           std::numeric_limits<int32_t>::max(), ignored);
}

inline bool ReadDriverReal(std::string_view text, double& value) {
  text = WithoutPlus(text);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// ASCII letters only.
std::string LowerCase(std::string_view text);
std::string UpperCase(std::string_view text);

inline constexpr std::string_view kAnyInteger = "a 32-bit integer";

}  // namespace attune
