// A genetic algorithm.
#pragma once

#include <optional>

#include "attune/search/population.h"
#include "attune/search/proposing_searcher.h"

namespace attune {

// Crosses two of the fastest configs parameter by parameter and sometimes changes one. There are no
// generations: each answer may replace the slowest at once, so the search never waits.
class GeneticSearcher final : public ProposingSearcher {
 public:
  GeneticSearcher(const ConfigSpace& space, const SearcherOptions& options);

 protected:
  std::optional<uint64_t> Propose() override;
  void Learn(uint64_t index, const Answer& answer) override;

 private:
  Population population_;
};

}  // namespace attune
