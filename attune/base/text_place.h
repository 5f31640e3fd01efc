// A place in a text, for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attune {

// Lines and columns count from 1, columns in characters of UTF-8.
struct TextPlace {
  size_t line = 1;
  size_t column = 1;

  friend bool operator==(const TextPlace&, const TextPlace&) = default;
};

// "line 3, column 7".
std::string Text(const TextPlace& place);

// The place of the byte at `offset`, or of the end.
TextPlace PlaceAt(std::string_view text, size_t offset);

}  // namespace attune
