// What searchers that propose one config after the other have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "attune/base/random.h"
#include "attune/search/config_digits.h"
#include "attune/search/permutation.h"
#include "attune/search/searcher.h"
#include "attune/search/start.h"

namespace attune {

// Asks for what it is told to begin with, then for what Propose() says as long as that is valid and
// new, else for a random config that was not asked for yet. So it goes on while answers are out,
// which may come in any order, and compile workers and the device are busy at once. Remembers what
// it asked for: 8 bytes or so for each.
class ProposingSearcher : public Searcher {
 public:
  std::vector<uint64_t> Ask(size_t max_count) final;
  void Tell(uint64_t index, const Answer& answer) final;
  bool Done() const final { return asked_.size() == space_.size(); }

 protected:
  ProposingSearcher(const ConfigSpace& space, const SearcherOptions& options);

  // What to try next; nothing, or something that was asked for, costs one of a few attempts.
  virtual std::optional<uint64_t> Propose() = 0;
  // Behind what it begins with, so many answers may be out: more proposals than that would be worth
  // less than they cost.
  virtual size_t MostOut() const { return std::numeric_limits<size_t>::max(); }
  // What came of a config that was asked for.
  virtual void Learn(uint64_t index, const Answer& answer) = 0;
  // What Propose() said, or a random config in its place, is about to be asked.
  virtual void WillAsk(uint64_t) {}

  bool WasAsked(uint64_t index) const { return asked_.contains(index); }
  const ConfigSpace& space() const { return space_; }
  ConfigDigits& digits() { return digits_; }
  Random& random() { return random_; }
  // With another value in one parameter. REQUIRES: there is a parameter with a choice.
  Digits OneStepFrom(const Digits& from);

 private:
  uint64_t Next();
  std::optional<uint64_t> NewProposal();
  uint64_t NextUnasked();

  ConfigSpace space_;
  ConfigDigits digits_;
  Random random_;
  Permutation order_;  // Of the random configs.
  uint64_t next_in_order_ = 0;
  Start start_;
  std::unordered_set<uint64_t> asked_;
  std::unordered_set<uint64_t> out_;  // Asked and not told.
};

}  // namespace attune
