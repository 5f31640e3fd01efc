// The report of `attune replay`: one self-contained HTML file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "extensions/models/replay/replay.h"

namespace attune {

// A searcher on one recorded space.
struct ReplayedSpace {
  std::string name;
  uint64_t configs = 0;
  ReplayResult result;
};

// Includes a plot for each space: the best times of the searcher and of random search over time.
std::string ReplayPage(const std::string& searcher, int repeats,
                       const std::vector<ReplayedSpace>& spaces);

}  // namespace attune
