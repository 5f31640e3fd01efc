// What every searcher begins with.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>

#include "attune/search/prior.h"
#include "attune/search/searcher.h"
#include "attune/space/config_space.h"

namespace attune {

// The first config, what others know (Prior), then the rest of the head. Not thread-safe.
class Start {
 public:
  Start(const ConfigSpace& space, const SearcherOptions& options);

  bool Done() const;
  // What others know would lead further with an answer that is out: three guesses that know of each
  // other's answers find what three at once do not.
  bool Waits() const { return prior_.has_value() && prior_->Waits(); }
  // Each index once. REQUIRES: !Done().
  uint64_t Next();
  // What came of a config, of the start or not.
  void Tell(uint64_t index, const Answer& answer);
  // Whether it asked for `index` already.
  bool Has(uint64_t index) const { return asked_.contains(index); }

 private:
  const uint64_t head_;
  uint64_t next_of_head_ = 0;
  std::optional<Prior> prior_;
  std::unordered_set<uint64_t> asked_;
};

}  // namespace attune
