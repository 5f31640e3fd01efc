#include "attune/search/list_searcher.h"

namespace attune {

std::vector<uint64_t> ExhaustiveSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && next_ < size_) indices.push_back(next_++);
  return indices;
}

std::vector<uint64_t> RandomSearcher::Ask(size_t max_count) {
  std::vector<uint64_t> indices;
  while (indices.size() < max_count && asked_ + indices.size() < head_) {
    indices.push_back(asked_ + indices.size());
  }
  while (indices.size() < max_count && next_ < order_.size()) {
    const uint64_t index = order_.At(next_++);
    if (index >= head_) indices.push_back(index);
  }
  asked_ += indices.size();
  return indices;
}

}  // namespace attune
