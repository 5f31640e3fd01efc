#include "attune/model/shallow_trees.h"

#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

constexpr size_t kColumns = 5;

ShallowTrees::Tree RandomTree(Random& random) {
  ShallowTrees::Tree tree;
  for (float& threshold : tree.thresholds) threshold = static_cast<float>(random.Uniform());
  for (uint8_t& column : tree.columns) column = static_cast<uint8_t>(random.Below(kColumns));
  for (float& leaf : tree.leaves) leaf = static_cast<float>(random.Uniform() - 0.5);
  return tree;
}

double ByTheWay(const ShallowTrees::Tree& tree, std::span<const float> row) {
  size_t at = 1;
  while (at < ShallowTrees::kLeaves) {
    at = 2 * at + (row[tree.columns[at]] > tree.thresholds[at] ? 1 : 0);
  }
  return static_cast<double>(tree.leaves[at - ShallowTrees::kLeaves]);
}

TEST(ShallowTrees, SumWhatTheWaysToLeavesSayForAnyNumberOfTrees) {
  Random random(1);
  for (const size_t trees : {1, 11, 12, 13, 40}) {
    ShallowTrees sums;
    EXPECT_TRUE(sums.empty());
    std::vector<ShallowTrees::Tree> each;
    for (size_t i = 0; i < trees; ++i) each.push_back(RandomTree(random));
    for (const ShallowTrees::Tree& tree : each) sums.Add(tree);
    EXPECT_FALSE(sums.empty());
    for (int i = 0; i < 20; ++i) {
      std::vector<float> row(kColumns);
      for (float& value : row) value = static_cast<float>(random.Uniform());
      double expected = 0;
      for (const ShallowTrees::Tree& tree : each) expected += ByTheWay(tree, row);

      const double sum = sums.SumOf(row);

      EXPECT_EQ(sum, expected) << trees << " trees";
    }
  }
}

}  // namespace
}  // namespace attune
