#include "attune/search/list_searcher.h"

namespace attune {

std::vector<uint64_t> ExhaustiveSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && asked_ < size_) {
    const bool starts = !start_.Done();
    if (starts && start_.Waits()) break;
    const uint64_t index = starts ? start_.Next() : next_++;
    if (!starts && start_.Has(index)) continue;
    indices.push_back(index);
    ++asked_;
  }
  return indices;
}

std::vector<uint64_t> RandomSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && !Done()) {
    const bool starts = !start_.Done();
    if (starts && start_.Waits()) break;
    const uint64_t index = starts ? start_.Next() : order_.At(next_++);
    if (!starts && start_.Has(index)) continue;
    indices.push_back(index);
    ++asked_;
  }
  return indices;
}

}  // namespace attune
