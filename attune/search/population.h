// The configs that a searcher breeds from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attune/base/random.h"
#include "attune/search/config_digits.h"

namespace attune {

// One config that worked.
struct Individual {
  Digits digits;
  double time_ns = 0;
};

// The fastest configs so far, up to a limit.
class Population {
 public:
  explicit Population(size_t limit) : limit_(limit) {}

  size_t size() const { return members_.size(); }
  const Individual& operator[](size_t i) const { return members_[i]; }
  // The faster of two at random. REQUIRES: size() > 0.
  const Individual& Tournament(Random& random) const;
  // REQUIRES: size() > 0.
  const Individual& Fastest() const;
  // Adds it while there is room, else replaces the slowest if it is faster.
  void Consider(Individual individual);

 private:
  size_t limit_;
  std::vector<Individual> members_;
};

}  // namespace attune
