#include "attune/base/base64.h"

#include <openssl/evp.h>

#include <limits>

namespace attune {

std::string ToBase64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3), '\0');
  // Writes a NUL behind its text, where std::string has one.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > std::numeric_limits<int>::max()) return std::nullopt;
  if (text.empty()) return std::string();
  std::string bytes(text.size() / 4 * 3, '\0');
  const int decoded = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()));
  if (decoded < 0) return std::nullopt;
  // EVP_DecodeBlock() counts padding as bytes.
  size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  bytes.resize(static_cast<size_t>(decoded) - padding);
  // It passes over blanks at the ends, and takes padding in the middle for zeros.
  if (ToBase64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace attune
