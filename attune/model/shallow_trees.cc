#include "attune/model/shallow_trees.h"

#include <utility>

namespace attune {
namespace {

constexpr size_t kLanes = ShallowTrees::kLanes;

// What each of kLanes trees says of the row whose values these are.
template <size_t... kLane>
std::array<float, kLanes> WalkDown(const ShallowTrees::Tree* trees, const float* values,
                                   std::index_sequence<kLane...> /*lanes*/) {
  std::array<size_t, kLanes> at;
  at.fill(1);
  const auto step = [&](const ShallowTrees::Tree& tree, size_t& node) {
    node = 2 * node + (values[tree.columns[node]] > tree.thresholds[node] ? 1 : 0);
  };
  for (int depth = 0; depth < ShallowTrees::kDepth; ++depth) (step(trees[kLane], at[kLane]), ...);
  return {trees[kLane].leaves[at[kLane] - ShallowTrees::kLeaves]...};
}

}  // namespace

void ShallowTrees::Add(const Tree& tree) {
  if (count_ == trees_.size()) trees_.resize(count_ + kLanes);
  trees_[count_++] = tree;
}

double ShallowTrees::SumOf(std::span<const float> row) const {
  double sum = 0;
  for (size_t first = 0; first < count_; first += kLanes) {
    for (const float value :
         WalkDown(&trees_[first], row.data(), std::make_index_sequence<kLanes>())) {
      sum += static_cast<double>(value);
    }
  }
  return sum;
}

}  // namespace attune
