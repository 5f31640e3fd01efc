#include "attune/model/boosted_trees.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/text.h"
#include "attune/model/tree_grower.h"

namespace attune {
namespace {

constexpr size_t kMostTrees = 100000;
constexpr size_t kMostNodes = size_t{1} << 26;
constexpr float kNoneIsAbove = std::numeric_limits<float>::infinity();

// Rows that go down a tree side by side: their loads do not wait for each other.
constexpr size_t kLanes = 8;
constexpr size_t kQuadLanes = 4;
using Quad [[gnu::vector_size(kQuadLanes * sizeof(float))]] = float;
using Lanes = std::array<Quad, kLanes / kQuadLanes>;

// From so many rows on it pays to fill the lanes with them.
constexpr size_t kLeastRowsSideBySide = 4;

// Trees that one row goes down side by side.
constexpr size_t kTreesSideBySide = 8;

// Trees with so many nodes or fewer are small: to compute all of them costs less than the way
// through them, whose steps have to wait for one another.
constexpr size_t kMostNodesOfSmall = 31;

}  // namespace

class BoostedTrees::Block {
 public:
  explicit Block(size_t columns) : columns_(columns) {}

  // `count` rows of `table` from `first` on. The lanes behind the last of them have the first one
  // again and are not read.
  void Fill(const TreeTable& table, size_t first, size_t count) {
    for (size_t i = 0; i < kLanes; ++i) {
      rows_[i] = table.row(first + (i < count ? i : 0)).data();
      for (size_t j = 0; j < columns_.size(); ++j) {
        columns_[j][i / kQuadLanes][i % kQuadLanes] = rows_[i][j];
      }
    }
  }

  // What a tree of few leaves says of each row.
  Lanes ValuesOf(std::span<const float> leaves, std::span<const Choice> choices) const {
    std::array<Lanes, kMostNodesOfSmall> values;
    Lanes* next = values.data();
    for (const float leaf : leaves) {
      for (Quad& quad : *next) quad = Quad{leaf, leaf, leaf, leaf};
      ++next;
    }
    for (const Choice& choice : choices) {
      const Lanes& column = columns_[choice.column];
      const Lanes& left = values[choice.left];
      const Lanes& right = values[choice.right];
      for (size_t i = 0; i < next->size(); ++i) {
        (*next)[i] = column[i] > choice.threshold ? right[i] : left[i];
      }
      ++next;
    }
    return next[-1];
  }

  // The same of one of any size, whose root is `root`.
  Lanes WalkFrom(std::span<const Node> nodes, const Tree& tree) const {
    std::array<uint32_t, kLanes> at;
    at.fill(tree.root);
    for (int step = 0; step < tree.depth; ++step) {
      for (size_t i = 0; i < kLanes; ++i) {
        const Node& node = nodes[at[i]];
        at[i] = node.left + (rows_[i][node.column] > node.threshold ? 1 : 0);
      }
    }
    Lanes values;
    for (size_t i = 0; i < kLanes; ++i) {
      values[i / kQuadLanes][i % kQuadLanes] = nodes[at[i]].value;
    }
    return values;
  }

 private:
  std::array<const float*, kLanes> rows_ = {};
  std::vector<Lanes> columns_;
};

BoostedTrees BoostedTrees::Train(const TreeTable& table, std::span<const double> targets,
                                 const BoostingSettings& settings) {
  assert(table.rows() == targets.size() && !targets.empty());
  BoostedTrees model;
  model.columns_ = table.columns;
  TreeGrower grower(table, targets, settings);
  model.base_ = grower.base();
  for (int i = 0; i < settings.trees; ++i) {
    const GrownTree grown = grower.Grow();
    const auto root = static_cast<uint32_t>(model.nodes_.size());
    for (const GrownTree::Node& node : grown.nodes) {
      const bool is_leaf = node.left == 0;
      const auto own = static_cast<uint32_t>(model.nodes_.size());
      model.nodes_.push_back({is_leaf ? kNoneIsAbove : node.threshold, node.column,
                              is_leaf ? own : root + node.left, node.value});
    }
    model.AddTree(root, grown.depth);
  }
  model.AddShallowTrees();
  return model;
}

void BoostedTrees::AddTree(uint32_t root, int depth) {
  Tree tree{root, static_cast<uint32_t>(nodes_.size()) - root, depth, 0};
  if (tree.size <= kMostNodesOfSmall) tree.small_leaves = AddChoices(tree);
  trees_.push_back(tree);
}

// Children stand behind their parents, so that from the last node on every one's are there already.
uint32_t BoostedTrees::AddChoices(const Tree& tree) {
  const auto nodes = std::span(nodes_).subspan(tree.root, tree.size);
  std::array<uint16_t, kMostNodesOfSmall> position = {};
  uint16_t next = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].left != tree.root + i) continue;
    position[i] = next++;
    leaves_.push_back(nodes[i].value);
  }
  const uint32_t leaves = next;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    const size_t left = node.left - tree.root;
    if (left == i) continue;
    position[i] = next++;
    choices_.push_back({node.threshold, node.column, position[left], position[left + 1]});
  }
  return leaves;
}

void BoostedTrees::AddShallowTrees() {
  constexpr size_t kLeaves = ShallowTrees::kLeaves;
  const auto fits = [](const Tree& tree) { return tree.depth <= ShallowTrees::kDepth; };
  const auto is_small = [](const Tree& tree) { return tree.small_leaves > 0; };
  if (columns_ > ShallowTrees::kMostColumns || !std::ranges::all_of(trees_, fits) ||
      std::ranges::all_of(trees_, is_small)) {
    return;
  }
  for (const Tree& tree : trees_) {
    ShallowTrees::Tree shallow;
    std::array<uint32_t, 2 * kLeaves> places = {};  // In nodes_, of each node there.
    places[1] = tree.root;
    for (size_t i = 1; i < kLeaves; ++i) {
      const Node& node = nodes_[places[i]];
      const bool is_leaf = node.left == places[i];
      shallow.thresholds[i] = node.threshold;
      shallow.columns[i] = static_cast<uint8_t>(node.column);
      places[2 * i] = node.left;
      places[2 * i + 1] = is_leaf ? node.left : node.left + 1;
    }
    for (size_t i = 0; i < kLeaves; ++i) shallow.leaves[i] = nodes_[places[kLeaves + i]].value;
    shallow_.Add(shallow);
  }
}

double BoostedTrees::PredictRow(std::span<const float> row) const {
  assert(row.size() == columns_);
  if (!shallow_.empty()) return base_ + shallow_.SumOf(row);
  double sum = 0;
  for (size_t first = 0; first < trees_.size(); first += kTreesSideBySide) {
    const auto group =
        std::span(trees_).subspan(first, std::min(kTreesSideBySide, trees_.size() - first));
    // The places behind the last tree go down the first one again.
    std::array<uint32_t, kTreesSideBySide> at;
    int depth = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      const Tree& tree = group[i < group.size() ? i : 0];
      at[i] = tree.root;
      depth = std::max(depth, tree.depth);
    }
    for (int step = 0; step < depth; ++step) {
      for (uint32_t& place : at) {
        const Node& node = nodes_[place];
        place = node.left + (row[node.column] > node.threshold ? 1 : 0);
      }
    }
    for (size_t i = 0; i < group.size(); ++i) sum += static_cast<double>(nodes_[at[i]].value);
  }
  return base_ + sum;
}

void BoostedTrees::Predict(const TreeTable& table, std::span<double> values) const {
  assert(values.size() == table.rows() && table.columns == columns_);
  std::fill(values.begin(), values.end(), base_);
  Block block(columns_);
  for (size_t first = 0; first < values.size(); first += kLanes) {
    const size_t count = std::min(kLanes, values.size() - first);
    if (!shallow_.empty() || count < kLeastRowsSideBySide) {
      for (size_t i = first; i < values.size(); ++i) values[i] = PredictRow(table.row(i));
      break;
    }
    block.Fill(table, first, count);
    std::array<double, kLanes> sums = {};
    const float* leaves = leaves_.data();
    const Choice* choices = choices_.data();
    for (const Tree& tree : trees_) {
      Lanes of_tree;
      if (tree.small_leaves > 0) {
        const size_t splits = tree.size - tree.small_leaves;
        of_tree = block.ValuesOf({leaves, tree.small_leaves}, {choices, splits});
        leaves += tree.small_leaves;
        choices += splits;
      } else {
        of_tree = block.WalkFrom(nodes_, tree);
      }
      for (size_t i = 0; i < kLanes; ++i) {
        sums[i] += static_cast<double>(of_tree[i / kQuadLanes][i % kQuadLanes]);
      }
    }
    for (size_t i = 0; i < count; ++i) values[first + i] += sums[i];
  }
}

// One line for each tree, nodes by their depth and from left to right, so that the children of
// those that have some are the next two each.
void BoostedTrees::AppendText(std::string& text) const {
  AppendNumbers(text, "base", std::span(&base_, 1));
  AppendCount(text, "trees", trees_.size());
  std::vector<uint32_t> order;
  for (const Tree& tree : trees_) {
    text += "tree";
    order.assign(1, tree.root);
    for (size_t i = 0; i < order.size(); ++i) {
      const Node& node = nodes_[order[i]];
      text += ' ';
      if (node.left == order[i]) {
        AppendTreeWord(text, {std::nullopt, node.value});
      } else {
        AppendTreeWord(text, {node.column, node.threshold});
        order.insert(order.end(), {node.left, node.left + 1});
      }
    }
    text += '\n';
  }
}

Status BoostedTrees::ReadTree(std::span<const std::string_view> words) {
  const auto root = static_cast<uint32_t>(nodes_.size());
  std::vector<int> depths(words.size(), 0);
  size_t children = 1;  // Where those of the next node that has some stand.
  for (size_t i = 0; i < words.size(); ++i) {
    const std::optional<TreeWord> word = ParseTreeWord(words[i]);
    const bool is_node =
        word && (!word->column || (*word->column < columns_ && children + 1 < words.size()));
    if (!is_node) {
      return DataLoss(
          fmt::format("'{}' is no node of a tree, or lacks children.", Excerpt(words[i])));
    }
    if (!word->column) {
      nodes_.push_back({kNoneIsAbove, 0, root + static_cast<uint32_t>(i), word->number});
      continue;
    }
    nodes_.push_back({word->number, *word->column, root + static_cast<uint32_t>(children), 0});
    depths[children] = depths[children + 1] = depths[i] + 1;
    children += 2;
  }
  if (children != words.size()) {
    return DataLoss(fmt::format("a tree has {} nodes, and {} are the children of others.",
                                words.size(), children - 1));
  }
  AddTree(root, *std::ranges::max_element(depths));
  return Status::Ok();
}

Result<BoostedTrees> BoostedTrees::ReadFrom(ModelLines& lines, size_t columns) {
  BoostedTrees model;
  model.columns_ = columns;
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> base, lines.Numbers("base", 1));
  model.base_ = base[0];
  ATTUNE_ASSIGN_OR_RETURN(const size_t trees, lines.Count("trees", kMostTrees));
  for (size_t i = 0; i < trees; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, lines.Words("tree"));
    if (model.nodes_.size() + words.size() > kMostNodes) return lines.Wrong("too many nodes.");
    const Status added = model.ReadTree(words);
    if (!added.ok()) return lines.Wrong(added.message());
  }
  model.AddShallowTrees();
  return model;
}

}  // namespace attune
