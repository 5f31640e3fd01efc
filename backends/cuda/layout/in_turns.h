// One list of configs out of several, one for each way to compute something.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attune/base/status.h"
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

// The configs that `list_of` gives for each of `ways`, in turns, with the way as their `field`. A
// way that is kUnsupported is left out, and the refusal is the result if all are. Any other failure
// is the result, because the way does not cause it: a lost device, above all.
template <class Way, class ListOf>
Result<std::vector<Config>> ListedInTurns(const std::string& field, const std::vector<Way>& ways,
                                          const ListOf& list_of) {
  std::vector<std::vector<Config>> lists;
  Status refusal;
  for (const Way& way : ways) {
    Result<std::vector<Config>> configs = list_of(way);
    if (!configs.ok()) {
      if (configs.error().code() != StatusCode::kUnsupported) return configs.error();
      refusal = configs.error();
      continue;
    }
    for (Config& config : *configs) config[field] = way;
    lists.push_back(std::move(*configs));
  }
  if (lists.empty() && !refusal.ok()) return refusal;
  return InTurns(std::move(lists));
}

}  // namespace attune::cuda
