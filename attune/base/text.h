// Parts of UTF-8 texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

// The beginning of `text`, at most `max_bytes` long and never with half of a character at its end.
constexpr std::string_view FirstBytes(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto continues = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  };
  // A character has at most three bytes after its first; a longer run is not UTF-8.
  size_t size = max_bytes;
  for (int i = 0; i < 3 && size > 0 && continues(text[size]); ++i) --size;
  return text.substr(0, continues(text[size]) ? max_bytes : size);
}

// Returns the word before the first blank and removes both from `rest`.
std::string_view NextWord(std::string_view& rest);

// Returns `text` without the blanks and tabs around it.
std::string_view Trimmed(std::string_view text);

// Returns the number if all of `text` is one in decimal and not negative.
std::optional<int64_t> WholeNumber(std::string_view text);

// The form of a long text in messages: all of it up to kExcerptBytes, else its beginning and its
// length, "aaaa... [5000 bytes]".
inline constexpr size_t kExcerptBytes = 80;
std::string Excerpt(std::string_view text);

}  // namespace attune
