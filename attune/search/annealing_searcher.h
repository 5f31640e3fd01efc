// Simulated annealing.
#pragma once

#include <optional>

#include "attune/search/proposing_searcher.h"

namespace attune {

// Walks by one parameter at a time. It accepts faster configs, and slower ones with a probability
// that falls with the slowdown and with the number of answers, so that it leaves local optima early
// and settles late.
class AnnealingSearcher final : public ProposingSearcher {
 public:
  AnnealingSearcher(const ConfigSpace& space, const SearcherOptions& options)
      : ProposingSearcher(space, options) {}

 protected:
  std::optional<uint64_t> Propose() override;
  void Learn(uint64_t index, const Answer& answer) override;

 private:
  struct Place {
    Digits digits;
    double time_ns = 0;
  };
  std::optional<Place> standing_;
  int answers_ = 0;
};

}  // namespace attune
