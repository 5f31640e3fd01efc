// One list of configs out of several.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "attune/space/config.h"

namespace attune::cuda {

// The first of every list, then the second of every list, and so on: best guesses stay first.
inline std::vector<Config> InTurns(std::vector<std::vector<Config>> lists) {
  size_t longest = 0;
  for (const std::vector<Config>& list : lists) longest = std::max(longest, list.size());
  std::vector<Config> in_turns;
  for (size_t i = 0; i < longest; ++i) {
    for (std::vector<Config>& list : lists) {
      if (i < list.size()) in_turns.push_back(std::move(list[i]));
    }
  }
  return in_turns;
}

}  // namespace attune::cuda
