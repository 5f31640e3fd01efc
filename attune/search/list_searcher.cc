#include "attune/search/list_searcher.h"

namespace attune {

std::vector<uint64_t> ExhaustiveSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && next_ < size_) indices.push_back(next_++);
  return indices;
}

std::vector<uint64_t> RandomSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  if (max_count > 0 && asked_ == 0) indices.push_back(0);
  while (indices.size() < max_count && next_ < order_.size()) {
    const uint64_t index = order_.At(next_++);
    if (index != 0) indices.push_back(index);
  }
  asked_ += indices.size();
  return indices;
}

}  // namespace attune
