// `name@version{key=value,...}` taken apart.
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

struct TextField {
  std::string_view key;
  std::string_view value;
  size_t key_offset = 0;
  size_t value_offset = 0;
};

inline constexpr size_t kMaxFields = kMaxOtherAttributes;

struct TextFields {
  std::string_view name;
  int version = 0;
  std::vector<TextField> fields;  // In the order of the text, keys distinct.
};
Parsed<TextFields> SplitFields(std::string_view text);

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

std::string UnknownKeyReason(const TextFields& text, const TextField& field);
std::string BadValueReason(const TextField& field, std::string_view expected);
std::string MissingKeyReason(const TextFields& text, std::string_view key);

}  // namespace attune
