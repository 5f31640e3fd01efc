// Chooses which configs of a space to try next. Sees indices and times only: no device and no
// clock, so that recorded measurements can replay through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/search/prior.h"
#include "attune/space/config_space.h"

namespace attune {

// The result of a config.
struct Answer {
  std::optional<double> time_ns = {};  // Nothing if it failed.
  double cost_ns = 0;  // Time of its trial, failed or not: mostly compiling; 0: unknown.
};

// Ask for configs, try them, tell their times, until Done or out of budget. Every searcher asks for
// its start configs first, above all the default, index 0. It asks for no index twice and is
// deterministic: the same space, seed and answers give the same questions. Not thread-safe.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Up to `max_count` indices to try next. Empty if Done, or if the next question depends on
  // outstanding answers.
  virtual std::vector<uint64_t> Ask(size_t max_count) = 0;

  // Passes the result of a config that was asked for. In any order, each once.
  virtual void Tell(uint64_t index, const Answer& answer) = 0;

  // Nothing is left to ask.
  virtual bool Done() const = 0;
};

struct SearcherOptions {
  uint64_t seed = 0;
  // The search begins with the first `head` indices, in order: the default alone, or configs that
  // the caller expects to be good.
  uint64_t head = 1;
  // Transfer priors: times of other device contexts, in any order. A few guesses from them are
  // asked for after the first config (Prior).
  std::vector<TimesElsewhere> elsewhere = {};
  // Configs that are busy at once, mostly compiling: asking for fewer at a time wastes workers.
  size_t workers = 4;
  // The first config was chosen deliberately: similar configs are likely good.
  bool default_is_chosen = false;
  // Number of configs that the budget allows; 0: unknown.
  uint64_t evaluations = 0;
};

// The searcher called `name` over `space` (copied; copies share their table). Names, and what they
// do:
//   adaptive    every config of a small space, or within a large budget, else `surrogate`
//   exhaustive  every config in index order
//   random      every config in a random order, in constant memory
//   local       greedy descent over neighbours with random restarts
//   annealing   simulated annealing
//   genetic     crosses and changes the fastest
//   evolution   differential evolution
//   swarm       particle swarm
//   surrogate   predicts times with two models and prefers fast configs with cheap trials
// REQUIRES: 1 <= options.head <= space.size(). kInvalidArgument lists the names if there is none
// called `name`.
Result<std::unique_ptr<Searcher>> MakeSearcher(std::string_view name, const ConfigSpace& space,
                                               const SearcherOptions& options);

// The names above, in that order.
std::vector<std::string_view> SearcherNames();

}  // namespace attune
