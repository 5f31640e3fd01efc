// Several lists of problems as one.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/record/record_store.h"

namespace attune {

// Each problem once, in the order of its first occurrence, with the sum of its weights.
class WeightedProblems {
 public:
  void Add(std::span<const TaggedProblem> problems);
  std::vector<TaggedProblem> Take() { return std::move(problems_); }

 private:
  std::vector<TaggedProblem> problems_;
  std::map<Fingerprint, size_t> positions_;
};

}  // namespace attune
