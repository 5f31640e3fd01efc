#include "storage/sql/free_text.h"

namespace attune::sql {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool StandsForItself(char c) { return c >= ' ' && c <= '~' && c != '%'; }

}  // namespace

std::string FreeText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    if (StandsForItself(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::optional<std::string> FromFreeText(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (StandsForItself(text[i])) {
      bytes += text[i];
      continue;
    }
    if (text[i] != '%' || i + 2 >= text.size()) return std::nullopt;
    const size_t high = kHexDigits.find(text[i + 1]);
    const size_t low = kHexDigits.find(text[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    const char byte = static_cast<char>(high << 4 | low);
    if (StandsForItself(byte)) return std::nullopt;
    bytes += byte;
    i += 2;
  }
  return bytes;
}

}  // namespace attune::sql
