#include "attune/model/least_squares.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/fingerprint.h"
#include "attune/base/random.h"

namespace attune {
namespace {

Matrix RandomColumns(size_t rows, const std::vector<double>& sizes, uint64_t seed) {
  Random random(seed);
  Matrix a(rows, sizes.size());
  for (double& value : a.values) value = random.Uniform();
  for (size_t j = 0; j < sizes.size(); ++j) {
    for (double& value : a.column(j)) value *= sizes[j];
  }
  return a;
}

std::vector<double> Times(const Matrix& a, const std::vector<double>& x) {
  std::vector<double> b(a.rows, 0);
  for (size_t j = 0; j < a.columns; ++j) {
    for (size_t i = 0; i < a.rows; ++i) b[i] += a.at(i, j) * x[j];
  }
  return b;
}

TEST(LeastSquares, ColumnsTenDecadesApartAreRecovered) {
  const Matrix a = RandomColumns(60, {1, 1e10, 1e-4}, 1);
  const std::vector<double> x = {3, 2e-10, -5e4};

  const std::vector<double> found = LeastSquares(a, Times(a, x));

  for (size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(found[j] / x[j], 1, 1e-11) << j;
}

// How sums are added up must never show: these bits are of the first version. 19 columns are no
// whole number of those that are added up side by side.
TEST(LeastSquares, TheBitsAreThoseOfTheFirstVersion) {
  Random random(6);
  Matrix a(203, 19);
  for (double& value : a.values) value = random.Uniform();
  std::vector<double> b(a.rows);
  for (double& value : b) value = random.Uniform();

  std::vector<double> found = NonNegativeLeastSquares(a, b);
  const std::vector<double> of_any_sign = LeastSquares(a, b);

  found.insert(found.end(), of_any_sign.begin(), of_any_sign.end());
  const std::string_view bits(reinterpret_cast<const char*>(found.data()),
                              found.size() * sizeof(double));
  EXPECT_EQ(FingerprintOf(bits).ToHex(), "9334c779551f8467033bd7724b4eeb8c");
}

TEST(LeastSquares, AColumnOfZerosHasTheCoefficientZero) {
  Matrix a = RandomColumns(40, {1, 0, 1e-9}, 3);
  const std::vector<double> x = {3, 0, 5e9};

  const std::vector<double> found = NonNegativeLeastSquares(a, Times(a, x));

  EXPECT_EQ(found[1], 0);
  EXPECT_NEAR(found[0], 3, 1e-9);
  EXPECT_NEAR(found[2] / 5e9, 1, 1e-9);
}

TEST(LeastSquares, DependentColumnsAndFewRowsGiveASolution) {
  Matrix a = RandomColumns(20, {1, 1, 1}, 2);
  for (size_t i = 0; i < a.rows; ++i) a.at(i, 2) = a.at(i, 0) + a.at(i, 1);
  const std::vector<double> b = Times(a, {1, 2, 0});

  const std::vector<double> found = LeastSquares(a, b);

  const std::vector<double> again = Times(a, found);
  for (size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(again[i], b[i], 1e-10);
  EXPECT_EQ(LeastSquares(RandomColumns(2, {1, 1, 1, 1}, 3), {1, 1}).size(), 4u);
}

TEST(NonNegativeLeastSquares, NonNegativeCoefficientsAreRecovered) {
  const Matrix a = RandomColumns(80, {1, 1e8, 1e-3, 50, 1e5}, 4);
  const std::vector<double> x = {3, 0, 2e3, 0, 7e-5};

  const std::vector<double> found = NonNegativeLeastSquares(a, Times(a, x));

  for (size_t j = 0; j < x.size(); ++j) {
    if (x[j] == 0) {
      EXPECT_EQ(found[j], 0) << j;
    } else {
      EXPECT_NEAR(found[j] / x[j], 1, 1e-10) << j;
    }
  }
}

// The optimum meets the conditions of Karush, Kuhn and Tucker: no slope at coefficients above 0,
// none upwards at those that are 0.
TEST(NonNegativeLeastSquares, WhatComesOutIsOptimal) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Matrix a = RandomColumns(15, {1, 1, 1, 1, 1, 1}, seed);
    Random random(seed + 1000);
    std::vector<double> b(a.rows);
    for (double& value : b) value = random.Uniform() - 0.3;

    const std::vector<double> x = NonNegativeLeastSquares(a, b);

    std::vector<double> residual = Times(a, x);
    for (size_t i = 0; i < b.size(); ++i) residual[i] = b[i] - residual[i];
    for (size_t j = 0; j < x.size(); ++j) {
      double slope = 0;
      for (size_t i = 0; i < b.size(); ++i) slope += a.at(i, j) * residual[i];
      ASSERT_GE(x[j], 0) << seed;
      ASSERT_LE(slope, 1e-9) << seed;
      if (x[j] > 0) {
        ASSERT_NEAR(slope, 0, 1e-9) << seed;
      }
    }
  }
}

TEST(NonNegativeLeastSquares, NothingHelpsWhereAllCoefficientsWouldBeBelowZero) {
  const Matrix a = RandomColumns(10, {1, 1}, 7);

  EXPECT_THAT(NonNegativeLeastSquares(a, std::vector<double>(10, -1)),
              ::testing::ElementsAre(0, 0));
}

TEST(MakeRelative, RowsAreDividedByTheirTimesAndWeighted) {
  Matrix x(2, 1);
  x.at(0, 0) = 6;
  x.at(1, 0) = 8;

  const RelativeRows rows =
      MakeRelative(x, std::vector<double>{3, 4}, std::vector<double>{1, 0.25});

  EXPECT_THAT(rows.a.values, ::testing::ElementsAre(2, 1));
  EXPECT_THAT(rows.b, ::testing::ElementsAre(1, 0.5));
}

}  // namespace
}  // namespace attune
