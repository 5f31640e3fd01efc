// Searchers that ask in an order fixed beforehand and learn nothing from the answers.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "attune/search/permutation.h"
#include "attune/search/searcher.h"

namespace attune {

// The start, then every other index in order.
class ExhaustiveSearcher final : public Searcher {
 public:
  ExhaustiveSearcher(uint64_t size, const SearcherOptions& options)
      : size_(size), start_(StartOf(options)), in_start_(start_.begin(), start_.end()) {}
  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t, const Answer&) override {}
  bool Done() const override { return asked_ == size_; }

 private:
  const uint64_t size_;
  const std::vector<uint64_t> start_;
  const std::unordered_set<uint64_t> in_start_;
  uint64_t asked_ = 0;
  uint64_t next_ = 0;
};

// The start, then every other index in a random order.
class RandomSearcher final : public Searcher {
 public:
  RandomSearcher(uint64_t size, const SearcherOptions& options)
      : start_(StartOf(options)),
        in_start_(start_.begin(), start_.end()),
        order_(size, options.seed) {}
  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t, const Answer&) override {}
  bool Done() const override { return asked_ == order_.size(); }

 private:
  const std::vector<uint64_t> start_;
  const std::unordered_set<uint64_t> in_start_;
  Permutation order_;
  uint64_t asked_ = 0;
  uint64_t next_ = 0;  // Position in the order.
};

}  // namespace attune
