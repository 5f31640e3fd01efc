// Sums of trees of many leaves and little depth, computed quickly.
//
// A way down such a tree is a chain of loads and comparisons that wait for each other, and to take
// those of several trees side by side is what makes it cheap. Values are added in the order of the
// trees, so that every bit is the same.
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
  static constexpr size_t kMostColumns = 256;
  // Trees side by side. A number of trees that is no multiple of it takes as long as the next one.
  static constexpr size_t kLanes = 12;

  // Every leaf is kDepth steps below the root, so that nobody needs places of children: the root is
  // node 1, and the children of node i are nodes 2 i and 2 i + 1, of which node kLeaves + j is leaf
  // j. A row goes to the second one where its value in the column is above the threshold. Of a
  // tree with a leaf higher up the nodes below that are such that rows go to the first.
  //
  // Not an array of nodes: of two thousand trees each byte counts, as they have to come out of a
  // cache of 2 MB, and columns alone are one line of it.
  static constexpr size_t kLineBytes = 64;
  struct alignas(kLineBytes) Tree {
    std::array<float, kLeaves> thresholds = {};
    std::array<uint8_t, kLeaves> columns = {};
    std::array<float, kLeaves> leaves = {};
  };

  void Add(const Tree& tree);
  bool empty() const { return count_ == 0; }

  // Of all trees, for one row.
  double SumOf(std::span<const float> row) const;

 private:
  size_t count_ = 0;
  std::vector<Tree> trees_;  // Behind the last one trees of zeros, up to a whole number of lanes.
};

}  // namespace attune
