#include "attune/search/list_search.h"

namespace attune {

std::vector<uint64_t> ExhaustiveSearch::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (!Done() && indices.size() < max_count) indices.push_back(next_++);
  return indices;
}

std::vector<uint64_t> RandomSearch::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (!Done() && indices.size() < max_count) {
    // The default comes first and is passed over when its turn comes.
    uint64_t index = 0;
    if (asked_ > 0) {
      do {
        index = order_.At(position_++);
      } while (index == 0);
    }
    indices.push_back(index);
    ++asked_;
  }
  return indices;
}

}  // namespace attune
