#include "attune/search/forest.h"

#include <array>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace attune {
namespace {

// 60 points of two features; the target is a step of the first and a slope of the second.
struct Points {
  FeatureTable table{2};
  std::vector<ForestTarget> targets;

  Points() {
    for (int i = 0; i < 60; ++i) {
      const std::array<uint8_t, 2> row = {static_cast<uint8_t>(i % 6), static_cast<uint8_t>(i / 6)};
      table.Append(row);
      targets.push_back((row[0] >= 3 ? 10.0f : 0.0f) + static_cast<float>(row[1]));
    }
  }
};

std::vector<ForestPrediction> Predictions(const ForestTree& tree, const FeatureTable& table) {
  std::vector<uint32_t> rows(table.rows());
  std::iota(rows.begin(), rows.end(), 0u);
  std::vector<ForestPrediction> predictions(rows.size());
  tree.Predict(table, rows, predictions);
  return predictions;
}

TEST(ForestTest, ATreeKnowsEveryPointThatItWasGrownOn) {
  const Points points;
  Random random(1);
  ForestTree tree;

  tree.Grow(points.table, points.targets, 1000, random);

  const auto predictions = Predictions(tree, points.table);
  for (size_t i = 0; i < points.targets.size(); ++i) {
    EXPECT_FLOAT_EQ(predictions[i].sum, points.targets[i]);
    EXPECT_FLOAT_EQ(predictions[i].squares, points.targets[i] * points.targets[i]);
  }
}

TEST(ForestTest, ATreeOfHalfThePointsIsCloseToTheOthers) {
  const Points points;
  Random random(2);
  ForestTree tree;

  tree.Grow(points.table, points.targets, 30, random);

  const auto predictions = Predictions(tree, points.table);
  double error = 0;
  for (size_t i = 0; i < points.targets.size(); ++i) {
    error += std::abs(predictions[i].sum - points.targets[i]) / 60;
  }
  EXPECT_LT(error, 2);
}

TEST(ForestTest, EqualTargetsAreOneLeaf) {
  const Points points;
  Random random(3);
  ForestTree tree;

  tree.Grow(points.table, std::vector<ForestTarget>(60, 7.0f), 1000, random);

  for (const ForestPrediction& prediction : Predictions(tree, points.table)) {
    EXPECT_EQ(prediction.sum, 7);
  }
}

TEST(FeatureTableTest, ARowThatIsReplacedIsPaddedWithNothing) {
  FeatureTable table(2);
  table.Append(std::array<uint8_t, 2>{1, 2});

  table.Replace(0, std::array<uint8_t, 2>{3, 4});

  EXPECT_EQ(table.rows(), 1u);
  EXPECT_EQ(table.row(0)[1], 4);
  EXPECT_EQ(table.row(0)[2], 0);
}

}  // namespace
}  // namespace attune
