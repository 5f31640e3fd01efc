#include "attune/model/tree_grower.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace attune {
namespace {

constexpr size_t kBins = 64;

double Quantile(std::vector<double> values, double share) {
  const auto position = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// A value from `below` on that is less than `above`: the middle, or one near it that has few
// digits.
float Between(float below, float above, bool is_short) {
  const float middle = below + (above - below) / 2;
  const float plain = middle < above ? middle : below;
  if (!is_short) return plain;
  constexpr int kMostDigits = 7;
  double step = std::pow(10, std::ceil(std::log10(double{above} - below)));
  for (int i = 0; i < kMostDigits; ++i, step /= 10) {
    const auto rounded = static_cast<float>(std::round(double{middle} / step) * step);
    if (rounded >= below && rounded < above) return rounded;
  }
  return plain;
}

// At most kBins - 1 values between which the column's values are about equally many.
std::vector<float> CutsOf(std::vector<float> values, bool are_short) {
  std::sort(values.begin(), values.end());
  std::vector<float> cuts;
  size_t next = 0;  // The position that the next cut has to be behind.
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if (values[i] == values[i + 1] || i < next) continue;
    cuts.push_back(Between(values[i], values[i + 1], are_short));
    next = values.size() * cuts.size() / (kBins - 1);
    if (cuts.size() == kBins - 1) break;
  }
  return cuts;
}

}  // namespace

TreeGrower::TreeGrower(const TreeTable& table, std::span<const double> targets,
                       const BoostingSettings& settings)
    : settings_(settings), targets_(targets), rows_(targets.size()), random_(settings.seed) {
  base_ = Quantile({targets.begin(), targets.end()}, 0.5);
  predictions_.assign(rows_, base_);
  residuals_.resize(rows_);
  MakeBins(table);
}

void TreeGrower::MakeBins(const TreeTable& table) {
  columns_ = table.columns;
  bins_.resize(rows_ * columns_);
  std::vector<float> column(rows_);
  for (size_t j = 0; j < columns_; ++j) {
    for (size_t i = 0; i < rows_; ++i) column[i] = table.row(i)[j];
    cuts_.push_back(CutsOf(column, settings_.leaf_step > 0));
    const std::vector<float>& cuts = cuts_.back();
    for (size_t i = 0; i < rows_; ++i) {
      const auto cut = std::lower_bound(cuts.begin(), cuts.end(), column[i]);
      bins_[i * columns_ + j] = static_cast<uint8_t>(cut - cuts.begin());
    }
  }
}

void TreeGrower::FillResiduals() {
  std::vector<double> sizes(rows_);
  for (size_t i = 0; i < rows_; ++i) {
    residuals_[i] = targets_[i] - predictions_[i];
    sizes[i] = std::abs(residuals_[i]);
  }
  const double most = Quantile(std::move(sizes), settings_.huber_share);
  for (double& residual : residuals_) residual = std::clamp(residual, -most, most);
}

void TreeGrower::DrawColumns() {
  std::vector<uint32_t> columns;
  for (uint32_t j = 0; j < cuts_.size(); ++j) {
    if (!cuts_[j].empty()) columns.push_back(j);
  }
  random_.Shuffle(std::span(columns));
  const auto count =
      static_cast<size_t>(std::ceil(settings_.column_share * static_cast<double>(columns.size())));
  columns.resize(std::min(count, columns.size()));
  drawn_ = std::move(columns);
  starts_.assign(1, 0);
  for (const uint32_t column : drawn_) starts_.push_back(starts_.back() + cuts_[column].size() + 1);
}

// Row by row: its bins are next to each other, and no addition waits for the one before it, which
// was to another column's bin.
TreeGrower::Histogram TreeGrower::CountRows(size_t begin, size_t end, size_t columns) const {
  Histogram histogram(starts_[columns]);
  for (size_t i = begin; i < end; ++i) {
    const uint8_t* const bins = bins_.data() + order_[i] * columns_;
    const double residual = residuals_[order_[i]];
    for (size_t d = 0; d < columns; ++d) {
      Bin& bin = histogram[starts_[d] + bins[drawn_[d]]];
      bin.sum += residual;
      ++bin.count;
    }
  }
  return histogram;
}

TreeGrower::Split TreeGrower::BestSplit(const Histogram& histogram) const {
  Split best;
  const auto least = static_cast<uint32_t>(settings_.least_in_leaf);
  for (size_t d = 0; d < drawn_.size(); ++d) {
    const auto bins = std::span(histogram).subspan(starts_[d], starts_[d + 1] - starts_[d]);
    Bin all;
    for (const Bin& bin : bins) {
      all.sum += bin.sum;
      all.count += bin.count;
    }
    const auto score = [&](double sum, uint32_t count) {
      return sum * sum / (count + settings_.leaf_penalty);
    };
    const double whole = score(all.sum, all.count);
    Bin left;
    for (size_t b = 0; b + 1 < bins.size(); ++b) {
      left.sum += bins[b].sum;
      left.count += bins[b].count;
      if (all.count - left.count < least) break;
      if (left.count < least) continue;
      const double gain =
          score(left.sum, left.count) + score(all.sum - left.sum, all.count - left.count) - whole;
      if (gain > best.gain) best = {gain, d, static_cast<uint8_t>(b)};
    }
  }
  return best;
}

float TreeGrower::ValueOf(const Histogram& histogram) const {
  Bin all;
  for (const Bin& bin : std::span(histogram).first(starts_[1])) {
    all.sum += bin.sum;
    all.count += bin.count;
  }
  const double value = settings_.shrinkage * all.sum / (all.count + settings_.leaf_penalty);
  const double step = settings_.leaf_step;
  return static_cast<float>(step > 0 ? std::round(value / step) * step + 0.0 : value);
}

// Only the smaller side is counted; the other one is what it leaves of their parent, whose
// histogram `left` has.
void TreeGrower::DivideHistogram(size_t columns, Leaf& left, Leaf& right) const {
  const bool is_left_small = left.end - left.begin < right.end - right.begin;
  const Leaf& small = is_left_small ? left : right;
  Histogram counted = CountRows(small.begin, small.end, columns);
  Histogram rest = std::move(left.histogram);
  for (size_t i = 0; i < counted.size(); ++i) {
    rest[i].sum -= counted[i].sum;
    rest[i].count -= counted[i].count;
  }
  left.histogram = std::move(is_left_small ? counted : rest);
  right.histogram = std::move(is_left_small ? rest : counted);
}

TreeGrower::Leaf TreeGrower::Divide(Leaf& leaf, bool is_last, GrownTree& tree) {
  const uint32_t column = drawn_[leaf.split.drawn];
  const uint8_t bin = leaf.split.bin;
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(leaf.begin);
  const auto end = order_.begin() + static_cast<std::ptrdiff_t>(leaf.end);
  const auto middle = std::stable_partition(
      begin, end, [&](uint32_t row) { return bins_[row * columns_ + column] <= bin; });
  const auto left = static_cast<uint32_t>(tree.nodes.size());
  const int depth = tree.nodes[leaf.node].depth + 1;
  tree.nodes[leaf.node] = {cuts_[column][bin], column, bin, left, 0, depth - 1};
  tree.nodes.resize(tree.nodes.size() + 2);
  tree.nodes[left].depth = tree.nodes[left + 1].depth = depth;
  tree.depth = std::max(tree.depth, depth);

  Leaf right;
  right.node = left + 1;
  right.begin = static_cast<size_t>(middle - order_.begin());
  right.end = leaf.end;
  leaf.node = left;
  leaf.end = right.begin;
  const auto least = static_cast<size_t>(2 * settings_.least_in_leaf);
  const bool is_deepest = settings_.max_depth > 0 && depth >= settings_.max_depth;
  const auto may_divide = [&](const Leaf& side) {
    return !is_last && !is_deepest && side.end - side.begin >= least;
  };
  // Where none is divided again their values are all that is asked for, and any column has those.
  DivideHistogram(may_divide(leaf) || may_divide(right) ? drawn_.size() : 1, leaf, right);
  for (Leaf* const side : {&leaf, &right}) {
    tree.nodes[side->node].value = ValueOf(side->histogram);
    side->split = may_divide(*side) ? BestSplit(side->histogram) : Split{};
  }
  return right;
}

void TreeGrower::AddToPredictions(const GrownTree& tree) {
  for (size_t i = 0; i < rows_; ++i) {
    uint32_t at = 0;
    while (tree.nodes[at].left != 0) {
      const GrownTree::Node& node = tree.nodes[at];
      at = node.left + (bins_[i * columns_ + node.column] > node.bin ? 1 : 0);
    }
    predictions_[i] += static_cast<double>(tree.nodes[at].value);
  }
}

GrownTree TreeGrower::Grow() {
  FillResiduals();
  DrawColumns();
  order_.clear();
  for (uint32_t i = 0; i < rows_; ++i) {
    if (random_.Uniform() < settings_.row_share) order_.push_back(i);
  }
  GrownTree tree;
  tree.nodes.resize(1);
  if (drawn_.empty() || order_.empty()) return tree;
  std::vector<Leaf> leaves(1);
  leaves[0].end = order_.size();
  leaves[0].histogram = CountRows(0, order_.size(), drawn_.size());
  leaves[0].split = BestSplit(leaves[0].histogram);
  tree.nodes[0].value = ValueOf(leaves[0].histogram);
  const auto most = static_cast<size_t>(settings_.leaves);
  while (leaves.size() < most) {
    const auto best =
        std::max_element(leaves.begin(), leaves.end(),
                         [](const Leaf& a, const Leaf& b) { return a.split.gain < b.split.gain; });
    if (best->split.gain <= 0) break;
    Leaf right = Divide(*best, leaves.size() + 1 == most, tree);
    leaves.push_back(std::move(right));
  }
  AddToPredictions(tree);
  return tree;
}

}  // namespace attune
