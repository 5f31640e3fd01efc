// Differential evolution.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "attune/search/population.h"
#include "attune/search/proposing_searcher.h"

namespace attune {

// Differential evolution (Storn and Price 1997) over positions in value lists: moves from a good
// config by a part of the difference of two others, and keeps some parameters of the target, which
// the result replaces if it is faster.
class EvolutionSearcher final : public ProposingSearcher {
 public:
  EvolutionSearcher(const ConfigSpace& space, const SearcherOptions& options);

 protected:
  std::optional<uint64_t> Propose() override;
  void Learn(uint64_t index, const Answer& answer) override;
  void WillAsk(uint64_t index) override;

 private:
  uint32_t Moved(size_t parameter, const Individual& from, const Individual& to);

  std::vector<Individual> members_;
  size_t fastest_ = 0;
  size_t next_target_ = 0;
  std::optional<size_t> target_;                    // Target of the last proposal.
  std::unordered_map<uint64_t, size_t> target_of_;  // Target of each config without an answer.
};

}  // namespace attune
