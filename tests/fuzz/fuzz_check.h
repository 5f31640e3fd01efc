// The assertion of every fuzz target: it stays on in every build, unlike assert.
#pragma once

#include <cstdlib>
#include <string_view>

namespace attune {

inline void FuzzCheck(bool holds) {
  if (!holds) std::abort();
}

// For a part of a target that is slow and depends on the bytes little: true for an eighth of all
// inputs, the same ones each time.
inline bool IsOneInEight(std::string_view bytes) {
  unsigned int sum = 0;
  for (const char c : bytes) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum % 8 == 0;
}

}  // namespace attune
