// The first configs of every searcher.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "attune/search/prior.h"
#include "attune/search/searcher.h"
#include "attune/space/config_space.h"

namespace attune {

// The first config, the guesses of transfer priors (Prior), then the rest of the head. Not
// thread-safe.
class Start {
 public:
  Start(const ConfigSpace& space, const SearcherOptions& options);

  bool Done() const;
  // True if an outstanding answer would improve the next guess of the prior: three guesses that use
  // each other's answers find more than three at once.
  bool Waits() const { return prior_.has_value() && prior_->Waits(); }
  // Each index once. REQUIRES: !Done().
  uint64_t Next();
  // Records the result of a config, of the start or not.
  void Tell(uint64_t index, const Answer& answer);
  // True if it asked for `index` already.
  bool Has(uint64_t index) const { return asked_.contains(index); }

 private:
  const uint64_t head_;
  uint64_t next_of_head_ = 0;
  std::optional<Prior> prior_;
  std::unordered_set<uint64_t> asked_;
};

}  // namespace attune
