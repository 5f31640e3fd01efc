// Searchers that ask in an order fixed beforehand and learn nothing from the answers.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/search/permutation.h"
#include "attune/search/searcher.h"
#include "attune/search/start.h"
#include "attune/space/config_space.h"

namespace attune {

// The start, then every other index in order.
class ExhaustiveSearcher final : public Searcher {
 public:
  ExhaustiveSearcher(const ConfigSpace& space, const SearcherOptions& options)
      : size_(space.size()), start_(space, options) {}
  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t index, const Answer& answer) override { start_.Tell(index, answer); }
  bool Done() const override { return asked_ == size_; }

 private:
  const uint64_t size_;
  Start start_;
  uint64_t asked_ = 0;
  uint64_t next_ = 0;
};

// The start, then every other index in a random order.
class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(const ConfigSpace& space, const SearcherOptions& options)
      : start_(space, options), order_(space.size(), options.seed) {}
  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t index, const Answer& answer) override { start_.Tell(index, answer); }
  bool Done() const override { return asked_ == order_.size(); }

 private:
  Start start_;
  Permutation order_;
  uint64_t asked_ = 0;
  uint64_t next_ = 0;  // Position in the order.
};

}  // namespace attune
