// What `attune replay` writes for people: one HTML file that needs nothing else.
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

// With a plot for each space: what the searcher and random search have found by each time.
std::string ReplayPage(const std::string& searcher, int repeats,
                       const std::vector<ReplayedSpace>& spaces);

}  // namespace attune
