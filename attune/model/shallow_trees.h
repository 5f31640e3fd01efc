// Sums of trees of many leaves and little depth, computed quickly.
//
// A way down such a tree is a chain of loads and comparisons that wait for each other, and to take
// several side by side is what makes it cheap: of rows, where many are asked about, else of trees.
// Both add the trees in their order, so that every bit is the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attune {

class ShallowTrees {
 public:
  static constexpr int kDepth = 6;
  static constexpr size_t kLeaves = size_t{1} << kDepth;

  // Every leaf is kDepth steps below the root, so that nobody needs places of children: the root is
  // node 1, and the children of node i are nodes 2 i and 2 i + 1, of which node kLeaves + j is leaf
  // j. A row goes to the second one where its value in the column is above the threshold. Of a
  // tree with a leaf higher up the nodes below that are such that rows go to the first.
  struct Tree {
    struct Split {
      float threshold = 0;
      uint32_t column = 0;
    };
    std::array<Split, kLeaves> splits;
    std::array<float, kLeaves> leaves = {};
  };

  void Add(const Tree& tree);
  bool empty() const { return count_ == 0; }

  // Of all trees, for one row.
  double SumOf(std::span<const float> row) const;
  // Adds that of each row of `table`, whose rows are of `columns` values, to the row's value.
  void AddSums(std::span<const float> table, size_t columns, std::span<double> values) const;

 private:
  size_t count_ = 0;
  std::vector<Tree> trees_;  // Behind the last one trees of zeros, up to a whole number of lanes.
};

}  // namespace attune
