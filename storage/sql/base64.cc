#include "storage/sql/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace attune::sql {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> MakeDigitValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}
constexpr std::array<uint8_t, 256> kDigitValues = MakeDigitValues();

}  // namespace

void AppendBase64(std::string_view bytes, std::string& text) {
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      const uint8_t byte = i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0;
      group = group << 8 | byte;
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
}

std::optional<std::string> ParseBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    if (i + 4 == text.size()) {
      while (digits > 2 && text[i + digits - 1] == '=') --digits;
    }
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t value = j < digits ? kDigitValues[static_cast<unsigned char>(text[i + j])] : 0;
      if (value == kNoDigit) return std::nullopt;
      group = group << 6 | value;
    }
    for (size_t j = 0; j + 1 < digits; ++j) bytes += static_cast<char>(group >> (16 - 8 * j));
    if (digits < 4 && (group << (8 * (digits - 1)) & 0xffffffu) != 0) return std::nullopt;
  }
  return bytes;
}

}  // namespace attune::sql
