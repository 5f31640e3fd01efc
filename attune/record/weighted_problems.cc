#include "attune/record/weighted_problems.h"

namespace attune {

void WeightedProblems::Add(std::span<const TaggedProblem> problems) {
  for (const TaggedProblem& tagged : problems) {
    const auto [position, is_new] = positions_.emplace(KeyOf(tagged.problem), problems_.size());
    if (is_new) {
      problems_.push_back(tagged);
    } else {
      problems_[position->second].weight += tagged.weight;
    }
  }
}

}  // namespace attune
