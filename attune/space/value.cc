#include "attune/space/value.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

namespace attune {
namespace {

std::string TextOfDouble(double value) {
  assert(std::isfinite(value));
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  assert(error == std::errc());
  (void)error;
  std::string text(buffer.data(), end);
  // "16" would read back as an integer.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class Number>
bool ReadWhole(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

// Keeps "inf" and "nan", which from_chars accepts as doubles, among the strings.
bool StartsLikeNumber(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && ((text.front() >= '0' && text.front() <= '9') || text.front() == '.');
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string Text(const ParameterValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&value)) return TextOfDouble(*real);
  return std::get<std::string>(value);
}

ParameterValue ParseParameterValue(std::string_view text) {
  if (StartsLikeNumber(text)) {
    if (int64_t integer = 0; ReadWhole(text, integer)) return integer;
    if (double real = 0; ReadWhole(text, real)) return real;
  }
  return std::string(text);
}

bool IsWellFormed(const ParameterValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return std::isfinite(*real);
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return true;
  if (text->empty()) return false;
  const char first = text->front();
  if (!IsLetter(first) && first != '_' && first != ':') return false;
  for (const char c : *text) {
    if (!IsLetter(c) && !IsDigit(c) &&
        std::string_view("_.:+-").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace attune
