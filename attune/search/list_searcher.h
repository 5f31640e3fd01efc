// Searchers that ask in an order fixed beforehand and learn nothing from the answers.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/search/permutation.h"
#include "attune/search/searcher.h"

namespace attune {

// Every index in order.
class ExhaustiveSearcher final : public Searcher {
 public:
  explicit ExhaustiveSearcher(uint64_t size) : size_(size) {}
  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t, const Answer&) override {}
  bool Done() const override { return next_ == size_; }

 private:
  uint64_t size_;
  uint64_t next_ = 0;
};

// The first `head` indices, then every other one in a random order.
class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(uint64_t size, uint64_t seed, uint64_t head) : head_(head), order_(size, seed) {}
  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t, const Answer&) override {}
  bool Done() const override { return asked_ == order_.size(); }

 private:
  const uint64_t head_;
  Permutation order_;
  uint64_t next_ = 0;   // Position in the order.
  uint64_t asked_ = 0;  // The head comes out of its turn, so this runs ahead until then.
};

}  // namespace attune
