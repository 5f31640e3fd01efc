// Gradient boosting of regression trees: sums of small trees, each fitted to what those before it
// left (Friedman 2001), with splits found on histograms and trees grown at the leaf that gains
// most.
//
// Training is ours rather than a library's because models have to be the same wherever they are
// fitted: the samples, the seed and the settings decide every bit, and no build lacks it
// (docs/design/0032-models-of-time.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/model/model_text.h"
#include "attune/model/shallow_trees.h"

namespace attune {

// Row by row.
struct TreeTable {
  size_t columns = 0;
  std::vector<float> values;

  explicit TreeTable(size_t column_count) : columns(column_count) {}
  size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
  std::span<const float> row(size_t i) const { return {values.data() + i * columns, columns}; }
};

struct BoostingSettings {
  int trees = 100;
  int leaves = 8;         // Of a tree, at most.
  int max_depth = 0;      // Of a leaf; 0: any. See shallow_trees.h.
  int least_in_leaf = 5;  // Samples.
  double shrinkage = 0.1;
  double row_share = 0.7;  // Drawn for each tree.
  double column_share = 0.5;
  double huber_share = 0.9;  // Residuals above this quantile of theirs count as that.
  double leaf_penalty = 1;   // Samples of residual 0 that every leaf has beside its own.
  // Values of leaves are multiples of it, and thresholds have few digits, for a smaller file; 0:
  // neither.
  double leaf_step = 0;
  uint64_t seed = 1;
};

class BoostedTrees {
 public:
  // REQUIRES: rows, as many targets as rows.
  static BoostedTrees Train(const TreeTable& table, std::span<const double> targets,
                            const BoostingSettings& settings);

  // One value for each row. Where there are enough of them, rows are computed several side by side,
  // else trees are, as shallow ones always.
  void Predict(const TreeTable& table, std::span<double> values) const;
  // Of one row.
  double PredictRow(std::span<const float> row) const;

  void AppendText(std::string& text) const;
  static Result<BoostedTrees> ReadFrom(ModelLines& lines, size_t columns);

 private:
  // Goes right where the value is above the threshold. A leaf is its own left child, with a
  // threshold that no value is above, so that every row can take as many steps as the deepest leaf
  // is deep.
  struct Node {
    float threshold = 0;
    uint32_t column = 0;
    uint32_t left = 0;  // The right one is behind it.
    float value = 0;
  };
  struct Tree {
    uint32_t root = 0;
    uint32_t size = 0;
    int depth = 0;
    uint32_t small_leaves = 0;  // How many of its nodes are leaves; 0 if it is no small tree.
  };
  // A small tree once more, as what is computed of rows side by side: its leaves are the first
  // values, and each choice makes one more of two before it, so that the root's is the last one.
  struct Choice {
    float threshold = 0;
    uint32_t column = 0;
    uint16_t left = 0;
    uint16_t right = 0;
  };
  class Block;  // Rows side by side.

  // The nodes from `root` on.
  void AddTree(uint32_t root, int depth);
  uint32_t AddChoices(const Tree& tree);
  // Once all trees are there: fills `shallow_` if none is too deep for it, and not all are small.
  void AddShallowTrees();
  Status ReadTree(std::span<const std::string_view> words);

  size_t columns_ = 0;
  double base_ = 0;
  std::vector<Node> nodes_;
  std::vector<Tree> trees_;
  std::vector<float> leaves_;    // Of the small trees, in their order.
  std::vector<Choice> choices_;  // The same.
  ShallowTrees shallow_;         // All of them once more, or none.
};

}  // namespace attune
