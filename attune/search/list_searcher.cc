#include "attune/search/list_searcher.h"

namespace attune {

std::vector<uint64_t> ExhaustiveSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && asked_ < size_) {
    const uint64_t index = asked_ < start_.size() ? start_[asked_] : next_++;
    if (asked_ >= start_.size() && in_start_.contains(index)) continue;
    indices.push_back(index);
    ++asked_;
  }
  return indices;
}

std::vector<uint64_t> RandomSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && !Done()) {
    const uint64_t index = asked_ < start_.size() ? start_[asked_] : order_.At(next_++);
    if (asked_ >= start_.size() && in_start_.contains(index)) continue;
    indices.push_back(index);
    ++asked_;
  }
  return indices;
}

}  // namespace attune
