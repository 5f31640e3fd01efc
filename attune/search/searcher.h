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
#include "attune/space/config_space.h"

namespace attune {

// Ask for configs, try them, tell their times, until Done or out of budget. Every searcher asks for
// what it is told to begin with (the default, index 0) first, asks for no index twice, and is
// deterministic: the same space, seed and answers give the same questions. Not thread-safe.
class Searcher {
 public:
  virtual ~Searcher() = default;

  // Up to `max_count` indices to try next. Empty if Done, or if the answers to earlier ones are
  // needed before anything sensible can be asked.
  virtual std::vector<uint64_t> Ask(size_t max_count) = 0;

  // The time of a config that was asked for; nothing if it failed. In any order, each once.
  virtual void Tell(uint64_t index, std::optional<double> time_ns) = 0;

  // Nothing is left to ask.
  virtual bool Done() const = 0;
};

// The searcher called `name` over `space` (copied; copies share their table). It begins with the
// first `head` indices, in order: the default alone, or what somebody else thinks is good. Names,
// and what they do:
//   exhaustive  every config in index order
//   random      every config in a random order, in constant memory
//   local       greedy descent over neighbours with random restarts, for spaces too large to
//   exhaust
// REQUIRES: 1 <= head <= space.size(). kInvalidArgument lists the names if there is none called
// `name`.
Result<std::unique_ptr<Searcher>> MakeSearcher(std::string_view name, const ConfigSpace& space,
                                               uint64_t seed, uint64_t head = 1);

// The names above, in that order.
std::vector<std::string_view> SearcherNames();

}  // namespace attune
