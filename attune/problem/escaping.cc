#include "attune/problem/escaping.h"

#include <charconv>

namespace attune {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ' ||
         c == '.' || c == '_' || c == '+' || c == '-';
}

void AppendEscaped(std::string_view value, std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : value) {
    if (IsPlain(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

std::string Escaped(std::string_view value) {
  std::string text;
  AppendEscaped(value, text);
  return text;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string value;
  value.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsPlain(text[i])) {
      value += text[i];
      continue;
    }
    if (text[i] != '%' || text.size() - i < 3) return std::nullopt;
    unsigned char byte = 0;
    const char* const end = text.data() + i + 3;
    const auto [stop, error] = std::from_chars(text.data() + i + 1, end, byte, 16);
    if (error != std::errc() || stop != end) return std::nullopt;
    value += static_cast<char>(byte);
    i += 2;
  }
  return value;
}

}  // namespace attune
