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

}  // namespace

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
    model.trees_.push_back({root, grown.depth});
  }
  return model;
}

void BoostedTrees::Predict(const TreeTable& table, std::span<double> values) const {
  assert(values.size() == table.rows() && table.columns == columns_);
  std::fill(values.begin(), values.end(), base_);
  for (size_t first = 0; first < values.size(); first += kLanes) {
    const size_t count = std::min(kLanes, values.size() - first);
    std::array<const float*, kLanes> rows = {};
    // The last lanes of a short block walk with its first row and are not read.
    for (size_t i = 0; i < kLanes; ++i) rows[i] = table.row(first + (i < count ? i : 0)).data();
    std::array<double, kLanes> sums = {};
    for (const Tree& tree : trees_) {
      std::array<uint32_t, kLanes> at;
      at.fill(tree.root);
      for (int step = 0; step < tree.depth; ++step) {
        for (size_t i = 0; i < kLanes; ++i) {
          const Node& node = nodes_[at[i]];
          at[i] = node.left + (rows[i][node.column] > node.threshold ? 1 : 0);
        }
      }
      for (size_t i = 0; i < kLanes; ++i) sums[i] += static_cast<double>(nodes_[at[i]].value);
    }
    for (size_t i = 0; i < count; ++i) values[first + i] += sums[i];
  }
}

// One line for each tree: leaves as "=VALUE", other nodes as "COLUMN:LEFT:THRESHOLD", with LEFT
// counted from the root.
void BoostedTrees::AppendText(std::string& text) const {
  AppendNumbers(text, "base", std::span(&base_, 1));
  AppendCount(text, "trees", trees_.size());
  for (size_t i = 0; i < trees_.size(); ++i) {
    const size_t end = i + 1 < trees_.size() ? trees_[i + 1].root : nodes_.size();
    text += "tree";
    for (size_t j = trees_[i].root; j < end; ++j) {
      const Node& node = nodes_[j];
      if (node.left == j) {
        text += fmt::format(" ={:a}", node.value);
      } else {
        text += fmt::format(" {}:{}:{:a}", node.column, node.left - trees_[i].root, node.threshold);
      }
    }
    text += '\n';
  }
}

namespace {

// The depth of each node is one more than its parent's, which stands before it.
int DepthOf(std::span<const uint32_t> lefts) {
  std::vector<int> depths(lefts.size(), 0);
  int deepest = 0;
  for (size_t i = 0; i < lefts.size(); ++i) {
    deepest = std::max(deepest, depths[i]);
    if (lefts[i] == 0) continue;
    depths[lefts[i]] = depths[i] + 1;
    depths[lefts[i] + 1] = depths[i] + 1;
  }
  return deepest;
}

}  // namespace

Status BoostedTrees::AddTree(std::span<const std::string_view> words) {
  const auto root = static_cast<uint32_t>(nodes_.size());
  std::vector<uint32_t> lefts;
  for (const std::string_view word : words) {
    const auto own = static_cast<uint32_t>(nodes_.size());
    const Status bad = DataLoss(fmt::format("'{}' is no node of a tree.", Excerpt(word)));
    const std::optional<TreeWord> read = ParseTreeWord(word);
    // Thresholds and values are floats, exactly.
    if (!read || std::abs(read->number) > std::numeric_limits<float>::max()) return bad;
    const auto number = static_cast<float>(read->number);
    if (read->left == 0) {
      nodes_.push_back({kNoneIsAbove, 0, own, number});
    } else {
      // Children stand behind their parent, so that no walk goes round in circles.
      const bool leads_on =
          read->column < columns_ && read->left > lefts.size() && read->left < words.size() - 1;
      if (!leads_on) return bad;
      const auto left = static_cast<uint32_t>(read->left);
      nodes_.push_back({number, static_cast<uint32_t>(read->column), root + left, 0});
    }
    lefts.push_back(static_cast<uint32_t>(read->left));
  }
  trees_.push_back({root, DepthOf(lefts)});
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
    const Status added = model.AddTree(words);
    if (!added.ok()) return lines.Wrong(added.message());
  }
  return model;
}

}  // namespace attune
