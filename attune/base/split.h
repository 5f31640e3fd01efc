// A text taken apart.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace attune {

// The parts between the `separator`s of `text`, also empty ones: one part more than separators.
// Views of `text`.
inline std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace attune
