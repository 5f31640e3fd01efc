#include "attune/base/text_place.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune {

std::string Text(const TextPlace& place) {
  return fmt::format("line {}, column {}", place.line, place.column);
}

TextPlace PlaceAt(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const size_t line_begin = before.rfind('\n') + 1;  // 0 if there is none.
  const std::string_view line = before.substr(line_begin);
  const auto begins_character = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  };
  return {1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<size_t>(std::count_if(line.begin(), line.end(), begins_character))};
}

}  // namespace attune
