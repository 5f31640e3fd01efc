#include "bench/models/cost.h"

#include <vector>

#include "bench/figures.h"

namespace attune::bench {

Cost CostOf(int runs, const std::function<void()>& work) {
  std::vector<double> wall_s;
  std::vector<double> core_s;
  for (int run = 0; run < runs; ++run) {
    const auto start = WallClock::now();
    const double core_ms = ProcessorMs();
    work();
    wall_s.push_back(SecondsSince(start));
    core_s.push_back((ProcessorMs() - core_ms) / 1000);
  }
  return {MedianOf(wall_s), MedianOf(core_s)};
}

}  // namespace attune::bench
