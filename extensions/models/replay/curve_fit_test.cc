#include "extensions/models/replay/curve_fit.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(FallingFitTest, FallingPointsStayAsTheyAre) {
  const std::vector<CurvePoint> points = {{1, 5}, {2, 4}, {3, 1}};

  EXPECT_EQ(FallingFit(points), points);
}

TEST(FallingFitTest, PointsThatRiseShareTheirMean) {
  // 2 and 6 rise to a mean of 4, which is above the 3 before: all three share 11 / 3.
  const std::vector<CurvePoint> fit = FallingFit({{1, 3}, {2, 2}, {3, 6}, {4, 0}});

  ASSERT_EQ(fit.size(), 3u);
  EXPECT_EQ(fit[0].x, 1);
  EXPECT_EQ(fit[1].x, 3);
  EXPECT_DOUBLE_EQ(fit[0].y, 11.0 / 3);
  EXPECT_DOUBLE_EQ(fit[1].y, 11.0 / 3);
  EXPECT_EQ(fit[2], (CurvePoint{4, 0}));
}

TEST(FallingFitTest, PointsOfOneTimeCountAsTheirMeanInAnyOrder) {
  EXPECT_EQ(FallingFit({{2, 0}, {1, 6}, {1, 2}}), (std::vector<CurvePoint>{{1, 4}, {2, 0}}));
}

TEST(StraightTest, IsFlatOutsideOfThePoints) {
  EXPECT_EQ(Straight({{1, 4}, {3, 0}}, {0, 1, 1.5, 3, 9}), (std::vector<double>{4, 4, 3, 0, 0}));
}

TEST(PchipTest, MeetsThePointsAndStaysBetweenThem) {
  const std::vector<CurvePoint> points = {{0, 8}, {1, 8}, {2, 2}, {4, 1}};
  const std::vector<double> values = Pchip(points, {0, 0.5, 1, 1.5, 2, 3, 4, 5});

  EXPECT_EQ(values[0], 8);
  EXPECT_EQ(values[1], 8);
  EXPECT_EQ(values[2], 8);
  EXPECT_LT(values[3], 8);
  EXPECT_GT(values[3], 2);
  EXPECT_EQ(values[4], 2);
  EXPECT_GT(values[5], 1);
  EXPECT_EQ(values[6], 1);
  EXPECT_EQ(values[7], 1);
}

// scipy.interpolate.PchipInterpolator([0, 1, 2, 4], [9, 4, 3, 0])([0.5, 1.5, 3]).
TEST(PchipTest, AgreesWithSciPy) {
  const std::vector<double> values = Pchip({{0, 9}, {1, 4}, {2, 3}, {4, 0}}, {0.5, 1.5, 3});

  EXPECT_NEAR(values[0], 5.833333333333333, 1e-12);
  EXPECT_NEAR(values[1], 3.4384057971014492, 1e-12);
  EXPECT_NEAR(values[2], 1.664855072463768, 1e-12);
}

TEST(PchipTest, OnePointIsFlatAndTwoAreStraight) {
  EXPECT_EQ(Pchip({{1, 7}}, {0, 1, 2}), (std::vector<double>{7, 7, 7}));
  EXPECT_EQ(Pchip({{0, 4}, {2, 0}}, {0, 1, 2}), (std::vector<double>{4, 2, 0}));
}

}  // namespace
}  // namespace attune
