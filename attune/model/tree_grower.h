// Grows the trees of BoostedTrees one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/random.h"
#include "attune/model/boosted_trees.h"

namespace attune {

// The root first; a node without a left child is a leaf. The right child is behind the left one.
struct GrownTree {
  struct Node {
    float threshold = 0;
    uint32_t column = 0;
    uint8_t bin = 0;  // The last one that goes left.
    uint32_t left = 0;
    float value = 0;
    int depth = 0;
  };
  std::vector<Node> nodes;
  int depth = 0;
};

class TreeGrower {
 public:
  TreeGrower(const TreeTable& table, std::span<const double> targets,
             const BoostingSettings& settings);

  // What all predictions begin with: the median of the targets.
  double base() const { return base_; }
  // The next tree, fitted to what those before left.
  GrownTree Grow();

 private:
  struct Bin {
    double sum = 0;
    uint32_t count = 0;
  };
  using Histogram = std::vector<Bin>;  // Of the columns of `drawn_`, each from its `starts_` on.
  struct Split {
    double gain = 0;
    size_t drawn = 0;  // Position in `drawn_`.
    uint8_t bin = 0;
  };
  // A leaf that may be divided.
  struct Leaf {
    uint32_t node = 0;
    size_t begin = 0;  // In `order_`.
    size_t end = 0;
    Histogram histogram;
    Split split;
  };

  void MakeBins(const TreeTable& table);
  void FillResiduals();
  void DrawColumns();
  // Of the first `columns` that were drawn.
  Histogram CountRows(size_t begin, size_t end, size_t columns) const;
  Split BestSplit(const Histogram& histogram) const;
  float ValueOf(const Histogram& histogram) const;
  // Divides `leaf`: it becomes the left child, what is returned the right one. Behind the last one
  // no leaf is divided again.
  Leaf Divide(Leaf& leaf, bool is_last, GrownTree& tree);
  void DivideHistogram(size_t columns, Leaf& left, Leaf& right) const;
  void AddToPredictions(const GrownTree& tree);

  BoostingSettings settings_;
  std::span<const double> targets_;
  size_t rows_ = 0;
  size_t columns_ = 0;
  Random random_;
  double base_ = 0;
  std::vector<std::vector<float>> cuts_;  // Of each column: bin i is up to cut i.
  std::vector<uint8_t> bins_;             // Row by row.
  std::vector<double> predictions_;
  std::vector<double> residuals_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> drawn_;
  std::vector<size_t> starts_;  // Of each drawn column's bins in a histogram, and of their end.
};

}  // namespace attune
