// Greedy descent over neighbours, again from another place when it is stuck.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attune/search/permutation.h"
#include "attune/search/searcher.h"
#include "attune/space/config_space.h"

namespace attune {

// Begins with the default and a few random configs, descends from the best of them: first the
// adjacent values of each parameter, then, when none of these is better, all values of each
// parameter; when none of those is better either, a new descent begins at a random config. A failed
// config counts as infinitely slow. Remembers what it asked for, so its memory grows with the
// number of questions, not with the space.
class LocalSearch final : public Searcher {
 public:
  LocalSearch(const ConfigSpace& space, uint64_t seed);

  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t index, std::optional<double> time_ns) override;
  bool Done() const override;

 private:
  // Random configs that a descent chooses its start from.
  static constexpr size_t kSeeds = 8;

  enum class Ring { kSeeds, kAdjacent, kAll };

  // Puts what the descent wants to know next into queue_. Called when every answer is there.
  void Advance();
  void BeginDescent();
  void QueueNeighbours(bool adjacent_only);
  void QueueUnasked(uint64_t index);
  std::optional<uint64_t> NextRandom();

  ConfigSpace space_;
  Permutation order_;
  Random random_;
  uint64_t position_ = 0;  // In order_.
  std::unordered_set<uint64_t> asked_;
  std::unordered_map<uint64_t, double> times_ns_;
  std::deque<uint64_t> queue_;
  size_t pending_ = 0;  // Asked and not told.
  Ring ring_ = Ring::kSeeds;
  std::vector<uint64_t> round_;     // What the present ring asked for, or found already known.
  std::optional<uint64_t> centre_;  // Of the descent.
};

}  // namespace attune
