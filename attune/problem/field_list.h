// `name@version{key=value,...}` taken apart, and fields read into a struct by a table of rules.
// Private to this module.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem/other_op.h"
#include "attune/problem/text_error.h"

namespace attune {

struct Field {
  std::string_view key;
  std::string_view value;
  size_t key_offset = 0;
  size_t value_offset = 0;
};

inline constexpr size_t kMaxFields = kMaxOtherAttributes;

struct FieldList {
  std::string_view name;
  int version = 0;
  std::vector<Field> fields;  // In the order of the text, keys distinct.
};
Parsed<FieldList> SplitFields(std::string_view text);

// A decimal integer in [low, high], all of `text`; `low` is not negative.
template <class Integer>
bool ReadInteger(std::string_view text, int64_t low, int64_t high, Integer& value) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || text.front() == '-') return false;
  if (number < low || number > high) return false;
  value = static_cast<Integer>(number);
  return true;
}

inline bool ReadFlag(std::string_view text, bool& value) {
  value = text == "1";
  return value || text == "0";
}

template <class Optional, class Value>
bool Assign(const Optional& parsed, Value& value) {
  if (parsed.has_value()) value = *parsed;
  return parsed.has_value();
}

// How the value of one key is read into a T.
template <class T>
struct FieldRule {
  std::string_view key;
  bool (*read)(std::string_view value, T& target);
  std::string_view expected;  // For messages: "an integer in [1, 2147483647]".
};

std::string UnknownKeyReason(const FieldList& list, const Field& field);
std::string BadValueReason(const Field& field, std::string_view expected);
std::string MissingKeyReason(const FieldList& list, std::string_view key);

// Reads every field; the first `required_count` rules must all have been used.
template <class T>
Parsed<T> ReadFields(const FieldList& list, std::span<const FieldRule<T>> rules,
                     size_t required_count, T target) {
  std::vector<bool> seen(rules.size());
  for (const Field& field : list.fields) {
    const auto rule = std::find_if(rules.begin(), rules.end(),
                                   [&field](const auto& each) { return each.key == field.key; });
    if (rule == rules.end()) return ErrorAtOffset(field.key_offset, UnknownKeyReason(list, field));
    if (!rule->read(field.value, target)) {
      return ErrorAtOffset(field.value_offset, BadValueReason(field, rule->expected));
    }
    seen[static_cast<size_t>(rule - rules.begin())] = true;
  }
  for (size_t i = 0; i < required_count; ++i) {
    if (!seen[i]) return ErrorAtOffset(0, MissingKeyReason(list, rules[i].key));
  }
  return target;
}

}  // namespace attune
