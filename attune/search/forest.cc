#include "attune/search/forest.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

namespace attune {
namespace {

// Rows that go down a tree together.
constexpr size_t kBlock = 16;
// A forest grows this many trees anew when targets are added, and all of them below kTargetsForAll.
constexpr size_t kRenewedTrees = 5;
constexpr size_t kTargetsForAll = 40;
// Rows that a tree is grown on.
constexpr size_t kMostRows = 500;

}  // namespace

void FeatureTable::Append(std::span<const uint8_t> features) {
  assert(features.size() <= stride_);
  bytes_.resize(bytes_.size() + stride_, 0);
  std::copy(features.begin(), features.end(), bytes_.end() - static_cast<ptrdiff_t>(stride_));
}

void FeatureTable::Replace(size_t i, std::span<const uint8_t> features) {
  assert(i < rows() && features.size() <= stride_);
  std::copy(features.begin(), features.end(), bytes_.begin() + static_cast<ptrdiff_t>(i * stride_));
}

void ForestTree::ChooseRows(size_t rows, size_t most_rows, Random& random) {
  order_.resize(rows);
  std::iota(order_.begin(), order_.end(), 0u);
  if (rows <= most_rows) return;
  for (size_t i = 0; i < most_rows; ++i) std::swap(order_[i], order_[i + random.Below(rows - i)]);
  order_.resize(most_rows);
}

void ForestTree::Grow(const FeatureTable& table, std::span<const ForestTarget> targets,
                      size_t most_rows, Random& random) {
  assert(!targets.empty() && targets.size() == table.rows());
  nodes_.assign(1, Node());
  depth_ = 0;
  ChooseRows(targets.size(), most_rows, random);
  parts_.assign(1, {0, order_.size(), 0, 0});
  while (!parts_.empty()) {
    const Part part = parts_.back();
    parts_.pop_back();
    depth_ = std::max(depth_, part.depth);
    if (!Summarise(part, targets)) continue;
    const Split split = ChooseSplit(table, targets, part, random);
    if (split.feature < 0) continue;
    const size_t middle = Divide(table, part, split);
    const size_t child = nodes_.size();
    nodes_[part.node].feature = static_cast<uint16_t>(split.feature);
    nodes_[part.node].cut = split.cut;
    nodes_[part.node].child = static_cast<uint32_t>(child);
    nodes_.resize(child + 2);
    parts_.push_back({part.begin, middle, child, part.depth + 1});
    parts_.push_back({middle, part.end, child + 1, part.depth + 1});
  }
}

// All rows of a block go down by one level at a time, those in a leaf stay: walks that do not wait
// for each other and take no branch are several times faster than one after the other.
void ForestTree::Predict(const FeatureTable& table, std::span<const uint32_t> rows,
                         std::vector<ForestPrediction>& predictions) const {
  const Node* const nodes = nodes_.data();
  for (size_t begin = 0; begin < rows.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, rows.size() - begin);
    std::array<uint32_t, kBlock> at = {};
    std::array<const uint8_t*, kBlock> row = {};
    for (size_t i = 0; i < kBlock; ++i) row[i] = table.row(rows[begin + std::min(i, count - 1)]);
    for (int level = 0; level < depth_; ++level) {
      for (size_t i = 0; i < kBlock; ++i) {
        const Node& node = nodes[at[i]];
        at[i] = node.child + (row[i][node.feature] > node.cut ? 1u : 0u);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      const ForestTarget mean = nodes[at[i]].mean;
      predictions[begin + i].sum += mean;
      predictions[begin + i].squares += mean * mean;
    }
  }
}

bool ForestTree::Summarise(const Part& part, std::span<const ForestTarget> targets) {
  ForestTarget sum = 0;
  const ForestTarget first = targets[order_[part.begin]];
  bool differ = false;
  for (size_t i = part.begin; i < part.end; ++i) {
    const ForestTarget target = targets[order_[i]];
    sum += target;
    differ = differ || target != first;
  }
  nodes_[part.node].child = static_cast<uint32_t>(part.node);
  nodes_[part.node].mean = sum / static_cast<float>(part.end - part.begin);
  return differ;
}

// A cut for each feature, uniform over the positions between the least and the greatest value here.
void ForestTree::DrawCuts(const FeatureTable& table, const Part& part, Random& random) {
  const size_t width = table.stride();
  low_.assign(width, 255);
  high_.assign(width, 0);
  cuts_.resize(width);
  uint8_t* const low = low_.data();
  uint8_t* const high = high_.data();
  for (size_t i = part.begin; i < part.end; ++i) {
    const uint8_t* const row = table.row(order_[i]);
    for (size_t f = 0; f < width; ++f) {
      low[f] = std::min(low[f], row[f]);
      high[f] = std::max(high[f], row[f]);
    }
  }
  for (size_t f = 0; f < width; ++f) {
    const auto span = static_cast<uint64_t>(high[f] - low[f]);
    cuts_[f] = static_cast<uint8_t>(low[f] + (span > 1 ? random.Below(span) : 0));
  }
}

ForestTree::Split ForestTree::ChooseSplit(const FeatureTable& table,
                                          std::span<const ForestTarget> targets, const Part& part,
                                          Random& random) {
  DrawCuts(table, part, random);
  const size_t width = table.stride();
  left_sums_.assign(width, 0);
  left_counts_.assign(width, 0);
  const float mean = nodes_[part.node].mean;
  float* const sums = left_sums_.data();
  float* const counts = left_counts_.data();
  const uint8_t* const cuts = cuts_.data();
  for (size_t i = part.begin; i < part.end; ++i) {
    const uint8_t* const row = table.row(order_[i]);
    const float deviation = targets[order_[i]] - mean;
    for (size_t f = 0; f < width; ++f) {
      const float is_left = row[f] <= cuts[f] ? 1.0f : 0.0f;
      sums[f] += is_left * deviation;
      counts[f] += is_left;
    }
  }
  Split best;
  float best_gain = -1;
  const float count = static_cast<float>(part.end - part.begin);
  // Each split sees about half of the features, so that trees disagree where they know little. The
  // first that differs is always seen. Of equal gains, which are the rule where two points are
  // left, the first wins.
  uint64_t seen = 0;
  for (size_t f = 0; f < width; ++f) {
    if (f % 64 == 0) seen = random.Next();
    if (low_[f] == high_[f]) continue;
    if (best_gain >= 0 && (seen >> (f % 64) & 1) == 0) continue;
    // The deviations of both sides add up to nothing.
    const float gain = sums[f] * sums[f] * count / (counts[f] * (count - counts[f]));
    if (gain > best_gain) {
      best_gain = gain;
      best = {static_cast<int32_t>(f), cuts[f]};
    }
  }
  return best;
}

size_t ForestTree::Divide(const FeatureTable& table, const Part& part, const Split& split) {
  const auto middle =
      std::partition(order_.begin() + static_cast<ptrdiff_t>(part.begin),
                     order_.begin() + static_cast<ptrdiff_t>(part.end),
                     [&](uint32_t row) { return table.row(row)[split.feature] <= split.cut; });
  return static_cast<size_t>(middle - order_.begin());
}

void Forest::Follow(const FeatureTable& table, std::span<const ForestTarget> targets,
                    Random& random) {
  if (targets.size() == followed_) return;
  const bool all = targets.size() < kTargetsForAll || followed_ == 0;
  followed_ = targets.size();
  for (size_t i = 0; i < (all ? trees_.size() : kRenewedTrees); ++i) {
    trees_[next_].Grow(table, targets, kMostRows, random);
    next_ = (next_ + 1) % trees_.size();
  }
}

void Forest::Predict(const FeatureTable& table, std::span<const uint32_t> rows,
                     std::vector<ForestPrediction>& sums) const {
  sums.assign(rows.size(), {});
  for (const ForestTree& tree : trees_) tree.Predict(table, rows, sums);
}

}  // namespace attune
