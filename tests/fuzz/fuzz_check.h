// What every fuzz target asserts with: it stays on in every build, unlike assert.
#pragma once

#include <cstdlib>

namespace attune {

inline void FuzzCheck(bool holds) {
  if (!holds) std::abort();
}

}  // namespace attune
