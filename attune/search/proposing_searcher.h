// The common part of searchers that propose one config after the other.
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

// Asks for the start configs first, then for the config that Propose() returns if it is valid and
// new, else for a random new config. It continues while answers are outstanding, which may arrive
// in any order, so compile workers and the device are busy at once. Remembers what it asked for:
// about 8 bytes for each config.
class ProposingSearcher : public Searcher {
 public:
  std::vector<uint64_t> Ask(size_t max_count) final;
  void Tell(uint64_t index, const Answer& answer) final;
  bool Done() const final { return asked_.size() == space_.size(); }

 protected:
  ProposingSearcher(const ConfigSpace& space, const SearcherOptions& options);

  // The next config to try; nothing, or a config asked for before, costs one of a few attempts.
  virtual std::optional<uint64_t> Propose() = 0;
  // Maximum of outstanding answers after the start configs: more proposals would cost more than
  // they gain.
  virtual size_t MostOut() const { return std::numeric_limits<size_t>::max(); }
  // Learns the result of a config that was asked for.
  virtual void Learn(uint64_t index, const Answer& answer) = 0;
  // Called before a proposal, or the random config in its place, is asked for.
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
  Permutation order_;  // Order of the random configs.
  uint64_t next_in_order_ = 0;
  Start start_;
  std::unordered_set<uint64_t> asked_;
  std::unordered_set<uint64_t> out_;  // Configs without an answer.
};

}  // namespace attune
