// Searchers that go through the whole space in an order fixed beforehand: by index, or shuffled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "attune/search/permutation.h"
#include "attune/search/searcher.h"

namespace attune {

class ExhaustiveSearch final : public Searcher {
 public:
  explicit ExhaustiveSearch(uint64_t size) : size_(size) {}

  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t, std::optional<double>) override {}
  bool Done() const override { return next_ >= size_; }

 private:
  uint64_t size_;
  uint64_t next_ = 0;
};

// Without replacement, in constant memory.
class RandomSearch final : public Searcher {
 public:
  RandomSearch(uint64_t size, uint64_t seed) : size_(size), order_(size, seed) {}

  std::vector<uint64_t> Ask(size_t max_count) override;
  void Tell(uint64_t, std::optional<double>) override {}
  bool Done() const override { return asked_ >= size_; }

 private:
  uint64_t size_;
  Permutation order_;
  uint64_t position_ = 0;
  uint64_t asked_ = 0;
};

}  // namespace attune
