// The cost of work, by the clock and in core time.
#pragma once

#include <cstddef>
#include <functional>

namespace attune::bench {

// Samples of fits with a measured cost.
inline constexpr size_t kFitSamples = 10000;

// Medians over some runs: by the clock, and of the core time of this process, which others on the
// machine disturb less.
struct Cost {
  double wall_s = 0;
  double core_s = 0;
};

Cost CostOf(int runs, const std::function<void()>& work);

}  // namespace attune::bench
