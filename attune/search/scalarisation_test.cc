#include "attune/search/scalarisation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(ScalarisationTest, WhatIsBetterIsAlwaysLess) {
  const double values[] = {-1e6, -50, -1, -1e-9, 0, 1e-9, 0.3, 1, 2, 1e6};
  for (const double usual : {-7.0, 0.0, 2.5}) {
    for (const bool is_much_sought : {false, true}) {
      double last = is_much_sought ? std::numeric_limits<double>::infinity() : 0;
      for (const double value : values) {
        const double scaled = Scaled(value, usual, is_much_sought);

        EXPECT_GT(scaled, 0) << value << " of " << usual;
        EXPECT_TRUE(std::isfinite(scaled));
        // Extreme values may end at a bound.
        const bool is_in_order = is_much_sought ? scaled <= last : scaled >= last;
        EXPECT_TRUE(is_in_order) << value << " of " << usual;
        last = scaled;
      }
    }
  }
}

TEST(ScalarisationTest, TheUsualValueIsOne) {
  EXPECT_NEAR(Scaled(250, 250, false), 1, 0.01);
  EXPECT_NEAR(Scaled(250, 250, true), 1, 0.01);
  EXPECT_NEAR(Scaled(-3, -3, false), 1, 0.01);
  EXPECT_NEAR(Scaled(0, 0, true), 1, 0.01);
  EXPECT_NEAR(Scaled(125, 250, false), 0.5, 0.01);
  EXPECT_NEAR(Scaled(500, 250, true), 0.5, 0.01);
}

// A concave front: weighted sums find only its ends.
TEST(ScalarisationTest, WeightsReachThePointsOfAConcaveFront) {
  std::vector<std::vector<double>> points;
  for (int i = 0; i <= 10; ++i) {
    const double x = 0.1 * i;
    points.push_back({0.2 + x, 0.2 + std::sqrt(1 - x * x)});
  }
  std::set<size_t> found;
  for (const auto& weights : FrontWeights(9)) {
    const auto best =
        std::min_element(points.begin(), points.end(), [&](const auto& a, const auto& b) {
          return Tchebycheff(a, weights) < Tchebycheff(b, weights);
        });
    found.insert(static_cast<size_t>(best - points.begin()));
  }

  EXPECT_GE(found.size(), 5u);
  EXPECT_TRUE(found.contains(0));
  EXPECT_TRUE(found.contains(10));
}

TEST(ScalarisationTest, WhoIsDominatedIsNeverPreferred) {
  for (const auto& weights : FrontWeights(5)) {
    EXPECT_LT(Tchebycheff(std::vector{0.5, 0.7}, weights),
              Tchebycheff(std::vector{0.5, 0.8}, weights));
    EXPECT_LT(Tchebycheff(std::vector{0.5, 0.7}, weights),
              Tchebycheff(std::vector{0.6, 0.7}, weights));
  }
}

}  // namespace
}  // namespace attune
