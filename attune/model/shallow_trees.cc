#include "attune/model/shallow_trees.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace attune {
namespace {

// Ways down side by side: what registers have room for.
constexpr size_t kLanes = 8;
// Rows from which on it pays to fill the lanes with them.
constexpr size_t kLeastRowsSideBySide = 4;

// What each lane's tree, `step` behind the one before it, says of the lane's row, whose value in a
// column is at `stride` times the column, `lane_stride` behind that of the lane before it.
template <size_t kStep, size_t kStride, size_t kLaneStride, size_t... kLane>
std::array<float, kLanes> WalkDown(const ShallowTrees::Tree* trees, const float* values,
                                   std::index_sequence<kLane...> /*lanes*/) {
  std::array<size_t, kLanes> at;
  at.fill(1);
  const auto step = [&](size_t lane) {
    const ShallowTrees::Tree::Split& split = trees[lane * kStep].splits[at[lane]];
    const float value = values[split.column * kStride + lane * kLaneStride];
    at[lane] = 2 * at[lane] + (value > split.threshold ? 1 : 0);
  };
  for (int depth = 0; depth < ShallowTrees::kDepth; ++depth) (step(kLane), ...);
  return {trees[kLane * kStep].leaves[at[kLane] - ShallowTrees::kLeaves]...};
}
constexpr auto kAllLanes = std::make_index_sequence<kLanes>();

}  // namespace

void ShallowTrees::Add(const Tree& tree) {
  if (count_ == trees_.size()) trees_.resize(count_ + kLanes);
  trees_[count_++] = tree;
}

double ShallowTrees::SumOf(std::span<const float> row) const {
  double sum = 0;
  for (size_t first = 0; first < count_; first += kLanes) {
    for (const float value : WalkDown<1, 1, 0>(&trees_[first], row.data(), kAllLanes)) {
      sum += static_cast<double>(value);
    }
  }
  return sum;
}

void ShallowTrees::AddSums(std::span<const float> table, size_t columns,
                           std::span<double> values) const {
  assert(table.size() == columns * values.size());
  std::vector<float> block(kLanes * columns);  // Column by column, one value of each lane's row.
  for (size_t first = 0; first < values.size(); first += kLanes) {
    const size_t count = std::min(kLanes, values.size() - first);
    if (count < kLeastRowsSideBySide) {
      for (size_t i = first; i < values.size(); ++i) {
        values[i] += SumOf(table.subspan(i * columns, columns));
      }
      return;
    }
    // Lanes behind the last row have the first one again and are not read.
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float* const row = &table[(first + (lane < count ? lane : 0)) * columns];
      for (size_t j = 0; j < columns; ++j) block[j * kLanes + lane] = row[j];
    }
    std::array<double, kLanes> sums = {};
    for (size_t i = 0; i < count_; ++i) {
      const auto of_tree = WalkDown<0, kLanes, 1>(&trees_[i], block.data(), kAllLanes);
      for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += static_cast<double>(of_tree[lane]);
    }
    for (size_t i = 0; i < count; ++i) values[first + i] += sums[i];
  }
}

}  // namespace attune
