// Quantiles of a few numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace attune {

// The value that `share` (0 to 1) of `values` do not exceed, one of them. REQUIRES: not empty.
inline double QuantileOf(std::vector<double> values, double share) {
  const auto at = static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(at));
  return values[at];
}

}  // namespace attune
