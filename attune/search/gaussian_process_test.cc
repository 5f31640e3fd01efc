#include "attune/search/gaussian_process.h"

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

// A smooth bowl of the first coordinate; the second means nothing.
float Bowl(uint8_t coordinate) {
  const float distance = (static_cast<float>(coordinate) - 100) / 100;
  return 3 + distance * distance;
}

struct RandomPoints {
  FeatureTable table{2};
  std::vector<float> targets;
  std::vector<uint32_t> rows;

  explicit RandomPoints(size_t count, uint64_t seed) {
    Random random(seed);
    for (size_t i = 0; i < count; ++i) {
      const std::array<uint8_t, 2> row = {static_cast<uint8_t>(random.Below(256)),
                                          static_cast<uint8_t>(random.Below(256))};
      table.Append(row);
      targets.push_back(Bowl(row[0]));
      rows.push_back(static_cast<uint32_t>(i));
    }
  }
};

GaussianProcess Fitted(const RandomPoints& points, int fits) {
  GaussianProcess process({0, 0});
  Random random(7);
  for (int i = 0; i < fits; ++i) process.Fit(points.table, points.rows, points.targets, random);
  return process;
}

TEST(GaussianProcessTest, PredictsKnownPointsCloselyAndWithLittleVariance) {
  const RandomPoints points(40, 1);
  const GaussianProcess process = Fitted(points, 1);

  std::vector<ProcessPrediction> predictions;
  process.Predict(points.table, points.rows, predictions);

  ASSERT_EQ(predictions.size(), 40u);
  for (size_t i = 0; i < predictions.size(); ++i) {
    EXPECT_NEAR(predictions[i].mean, points.targets[i], 0.15f) << i;
    EXPECT_LT(predictions[i].variance, 0.05f) << i;
  }
}

TEST(GaussianProcessTest, PredictsUnknownPointsBetterThanTheMean) {
  const RandomPoints points(40, 1);
  const RandomPoints others(100, 2);
  const GaussianProcess process = Fitted(points, 20);
  const float mean = std::accumulate(points.targets.begin(), points.targets.end(), 0.0f) / 40;

  std::vector<ProcessPrediction> predictions;
  process.Predict(others.table, others.rows, predictions);

  float error = 0;
  float error_of_mean = 0;
  for (size_t i = 0; i < predictions.size(); ++i) {
    error += std::abs(predictions[i].mean - others.targets[i]);
    error_of_mean += std::abs(mean - others.targets[i]);
  }
  EXPECT_LT(error, 0.2f * error_of_mean);
}

TEST(GaussianProcessTest, LearnsWhichCoordinateMatters) {
  const GaussianProcess process = Fitted(RandomPoints(40, 1), 20);

  EXPECT_GT(process.weight(0), 4 * process.weight(1));
}

TEST(GaussianProcessTest, VarianceGrowsWithTheDistanceFromWhatIsKnown) {
  FeatureTable table(1);
  for (const uint8_t value : {0, 10, 20, 22, 255}) table.Append(std::array<uint8_t, 1>{value});
  const std::vector<uint32_t> known = {0, 1, 2};
  GaussianProcess process({0});
  Random random(1);
  process.Fit(table, known, std::vector<float>{1, 2, 4}, random);

  std::vector<ProcessPrediction> predictions;
  process.Predict(table, std::vector<uint32_t>{2, 3, 4}, predictions);

  EXPECT_LT(predictions[0].variance, predictions[1].variance);
  EXPECT_LT(predictions[1].variance, predictions[2].variance);
}

TEST(GaussianProcessTest, APredictionDoesNotDependOnTheOthers) {
  const RandomPoints points(40, 1);
  const GaussianProcess process = Fitted(points, 3);
  std::vector<ProcessPrediction> together;
  process.Predict(points.table, points.rows, together);

  for (const uint32_t row : points.rows) {
    std::vector<ProcessPrediction> alone;
    process.Predict(points.table, std::vector<uint32_t>{row}, alone);
    EXPECT_EQ(alone[0].mean, together[row].mean);
    EXPECT_EQ(alone[0].variance, together[row].variance);
  }
}

TEST(GaussianProcessTest, EqualTargetsAndASinglePointAreNoError) {
  FeatureTable table(1);
  for (int i = 0; i < 5; ++i) table.Append(std::array<uint8_t, 1>{9});
  GaussianProcess process({0.5f});
  Random random(1);
  std::vector<ProcessPrediction> predictions;

  process.Fit(table, std::vector<uint32_t>{0}, std::vector<float>{2}, random);
  process.Predict(table, std::vector<uint32_t>{1}, predictions);
  EXPECT_NEAR(predictions[0].mean, 2, 1e-3f);

  process.Fit(table, std::vector<uint32_t>{0, 1, 2, 3, 4}, std::vector<float>(5, 2), random);
  process.Predict(table, std::vector<uint32_t>{1}, predictions);
  EXPECT_NEAR(predictions[0].mean, 2, 1e-3f);
  EXPECT_TRUE(std::isfinite(predictions[0].variance));
}

}  // namespace
}  // namespace attune
