// Greedy descent with random restarts.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "attune/base/random.h"
#include "attune/search/permutation.h"
#include "attune/search/searcher.h"
#include "attune/search/start.h"
#include "attune/space/config_space.h"

namespace attune {

// Starts at the best of the start configs. From the current config it asks for all neighbours by
// one step of one parameter, moves to the best of them if that is faster, and repeats. In a dead
// end it tries every other value of each parameter, then restarts at the best of a few new random
// configs. Every second restart stays near the best config so far (some parameters changed),
// because good configs cluster. Remembers what it asked for: about 8 bytes for each config.
class LocalSearcher final : public Searcher {
 public:
  LocalSearcher(const ConfigSpace& space, const SearcherOptions& options);

  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t index, const Answer& answer) override;
  bool Done() const override { return asked_.size() == space_.size(); }

 private:
  enum class Stage {
    kRestart,   // The pending answers are of scattered configs, one of which becomes the place to
                // stand.
    kAdjacent,  // ... are of neighbours by one step.
    kAny,       // ... are of neighbours by any step.
  };
  struct Point {
    uint64_t index = 0;
    double time_ns = 0;
  };

  // Fills the queue for the next stage; leaves it empty only if everything was asked for.
  void Advance();
  void QueueUnasked(std::vector<uint64_t> indices);
  void QueueRestart();
  std::optional<uint64_t> NearTheBest();
  std::optional<uint64_t> NextUnasked();

  ConfigSpace space_;
  Random random_;
  Start start_;
  Permutation order_;  // Order of the scattered configs.
  uint64_t next_in_order_ = 0;
  Stage stage_ = Stage::kRestart;
  int restarts_ = 0;
  std::unordered_set<uint64_t> asked_;
  std::vector<uint64_t> queue_;     // To ask for, last first.
  size_t pending_ = 0;              // Configs without an answer.
  std::optional<Point> standing_;   // Nothing before the first success since a restart.
  std::optional<Point> candidate_;  // The fastest answer of this stage.
  std::optional<Point> best_;
};

}  // namespace attune
