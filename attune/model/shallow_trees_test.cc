#include "attune/model/shallow_trees.h"

#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

constexpr size_t kColumns = 5;

ShallowTrees::Tree RandomTree(Random& random) {
  ShallowTrees::Tree tree;
  for (ShallowTrees::Tree::Split& split : tree.splits) {
    split = {static_cast<float>(random.Uniform()), static_cast<uint32_t>(random.Below(kColumns))};
  }
  for (float& leaf : tree.leaves) leaf = static_cast<float>(random.Uniform() - 0.5);
  return tree;
}

double ByTheWay(const ShallowTrees::Tree& tree, std::span<const float> row) {
  size_t at = 1;
  while (at < ShallowTrees::kLeaves) {
    at = 2 * at + (row[tree.splits[at].column] > tree.splits[at].threshold ? 1 : 0);
  }
  return static_cast<double>(tree.leaves[at - ShallowTrees::kLeaves]);
}

TEST(ShallowTrees, SumWhatTheWaysToLeavesSayForAnyNumberOfTreesAndRows) {
  Random random(1);
  for (const size_t trees : {1, 7, 8, 9, 20}) {
    ShallowTrees sums;
    EXPECT_TRUE(sums.empty());
    std::vector<ShallowTrees::Tree> each;
    for (size_t i = 0; i < trees; ++i) each.push_back(RandomTree(random));
    for (const ShallowTrees::Tree& tree : each) sums.Add(tree);
    EXPECT_FALSE(sums.empty());
    for (const size_t rows : {0, 1, 3, 4, 8, 11, 21}) {
      std::vector<float> table(rows * kColumns);
      for (float& value : table) value = static_cast<float>(random.Uniform());
      std::vector<double> values(rows, 2);

      sums.AddSums(table, kColumns, values);

      for (size_t i = 0; i < rows; ++i) {
        const auto row = std::span<const float>(table).subspan(i * kColumns, kColumns);
        double expected = 0;
        for (const ShallowTrees::Tree& tree : each) expected += ByTheWay(tree, row);
        EXPECT_EQ(values[i], 2 + expected) << trees << " trees, row " << i << " of " << rows;
        EXPECT_EQ(sums.SumOf(row), expected);
      }
    }
  }
}

}  // namespace
}  // namespace attune
