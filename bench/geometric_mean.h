// The mean of ratios.
#pragma once

#include <cmath>
#include <span>

namespace attune {

// 0 if there are no values. REQUIRES: all are positive.
inline double GeometricMean(std::span<const double> values) {
  double log_sum = 0;
  for (const double value : values) log_sum += std::log(value);
  return values.empty() ? 0 : std::exp(log_sum / static_cast<double>(values.size()));
}

}  // namespace attune
