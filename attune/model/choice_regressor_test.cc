#include "attune/model/choice_regressor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/model/shape_features.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

// Two algorithms: "tall" is quicker where m is above n, "wide" where it is not, by a factor of 2.
std::vector<Sample> TallAndWide(uint64_t problems, uint64_t seed) {
  Random random(seed);
  std::vector<Sample> samples;
  for (uint64_t i = 0; i < problems; ++i) {
    const auto extent = [&] { return static_cast<int64_t>(std::exp(3 + 5 * random.Uniform())); };
    const Problem problem = PackedGemm(extent(), extent(), extent());
    const auto& gemm = problem.Get<Gemm>();
    const double base = 0.01 + Flops(problem) / 1e9;
    for (const char* name : {"tall", "wide"}) {
      Sample sample;
      sample.row = ShapeRow(problem, name);
      const bool is_quicker = (gemm.m > gemm.n) == (sample.row.algorithm == "tall");
      sample.time_ms = is_quicker ? base : 2 * base;
      sample.configuration = i;
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

FeatureSet Features() { return *ShapeFeatures("gemm"); }

TEST(ChoiceRegressor, ChoosesRightlyAmongProblemsNeverSeen) {
  ChoiceRegressor model(Features());
  ASSERT_TRUE(model.Fit(TallAndWide(1500, 1)).ok());

  int right = 0;
  double error = 0;
  const std::vector<Sample> asked = TallAndWide(200, 2);
  for (size_t i = 0; i < asked.size(); i += 2) {
    const double tall = PredictOne(model, asked[i].row);
    const double wide = PredictOne(model, asked[i + 1].row);
    right += (tall < wide) == (asked[i].time_ms < asked[i + 1].time_ms) ? 1 : 0;
    error += std::abs(std::log(tall / asked[i].time_ms)) / 200;
  }

  EXPECT_GE(right, 190);
  EXPECT_LT(error, 0.3);
}

TEST(ChoiceRegressor, AskedAboutAllAlgorithmsAtOnceEachIsAsAlone) {
  ChoiceRegressor model(Features());
  ASSERT_TRUE(model.Fit(TallAndWide(200, 1)).ok());
  const std::vector<std::string_view> algorithms = {"wide", "never seen", "tall"};
  for (const Sample& sample : TallAndWide(20, 2)) {
    std::vector<double> each(algorithms.size());
    model.PredictEach(sample.row, algorithms, each);
    for (size_t i = 0; i < algorithms.size(); ++i) {
      FeatureRow row = sample.row;
      row.algorithm = algorithms[i];
      EXPECT_EQ(each[i], PredictOne(model, row)) << algorithms[i];
    }
  }
}

TEST(ChoiceRegressor, ReadsBackAsTheSameModel) {
  ChoiceRegressor model(Features());
  ASSERT_TRUE(model.Fit(TallAndWide(200, 1)).ok());
  std::string text;
  model.AppendText(text);
  ModelLines lines(text);

  const auto read = ChoiceRegressor::ReadFrom(lines, Features());

  ASSERT_TRUE(read.ok()) << read.status().message();
  for (const Sample& sample : TallAndWide(50, 3)) {
    EXPECT_EQ(PredictOne(**read, sample.row), PredictOne(model, sample.row));
  }
  std::string again;
  (*read)->AppendText(again);
  EXPECT_EQ(again, text);
}

TEST(ChoiceRegressor, AnAlgorithmNeverSeenIsAsSlowAsUsual) {
  ChoiceRegressor model(Features());
  const std::vector<Sample> samples = TallAndWide(400, 1);
  ASSERT_TRUE(model.Fit(samples).ok());
  FeatureRow row = samples[0].row;
  row.algorithm = "of nobody";

  const double predicted = PredictOne(model, row);

  EXPECT_GT(predicted, 0);
  EXPECT_TRUE(std::isfinite(predicted));
}

// The column `name` of the row of `conv`.
double ColumnOf(const Conv& conv, const std::string& name) {
  const std::vector<std::string> names = ShapeFeatures("conv")->operation;
  const auto column = std::ranges::find(names, name) - names.begin();
  return ShapeRow(Problem(conv), "a").values.at(static_cast<size_t>(column));
}

TEST(ShapeFeatures, AConvolutionIsAProductInEachDirection) {
  Conv conv;
  conv.batch = 2;
  conv.in_channels = 8;
  conv.out_channels = 16;
  conv.in = {1, 7, 7};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  const double pixels = 2 * 7 * 7;
  const std::map<ConvDirection, std::array<double, 3>> expected = {
      {ConvDirection::kForward, {16, pixels, 8 * 9}},
      {ConvDirection::kBackwardData, {8, pixels, 16 * 9}},
      {ConvDirection::kBackwardWeights, {16, 8 * 9, pixels}}};

  for (const auto& [direction, extents] : expected) {
    conv.direction = direction;

    EXPECT_DOUBLE_EQ(std::exp2(ColumnOf(conv, "gemm_m")), extents[0]);
    EXPECT_DOUBLE_EQ(std::exp2(ColumnOf(conv, "gemm_n")), extents[1]);
    EXPECT_DOUBLE_EQ(std::exp2(ColumnOf(conv, "gemm_k")), extents[2]);
  }
}

TEST(ShapeFeatures, WhatTilesWasteIsAColumn) {
  Conv conv;
  conv.in_channels = 3;
  conv.out_channels = 96;
  conv.in = {1, 7, 10};

  EXPECT_DOUBLE_EQ(ColumnOf(conv, "winograd_4"), 8.0 * 12 / (7 * 10));
  EXPECT_DOUBLE_EQ(std::exp2(ColumnOf(conv, "waste_64")), 128.0 * 128 / (96 * 70));
  EXPECT_DOUBLE_EQ(std::exp2(ColumnOf(conv, "tiles_64")), 4);
  EXPECT_EQ(ColumnOf(conv, "last_w"), 10);
  EXPECT_EQ(ColumnOf(conv, "last_pixels"), 6);
}

TEST(ShapeFeatures, RowsHaveAsManyNumbersAsNamesAndAllAreFinite) {
  Conv transposed;
  transposed.mode = ConvMode::kTransposed;
  transposed.in_channels = 8;
  transposed.in = {1, 5, 5};
  transposed.filter = {1, 3, 3};
  for (const Problem& problem : {Problem(PackedGemm(1, 1, 1)), Problem(transposed)}) {
    const FeatureRow row = ShapeRow(problem, "a");
    EXPECT_EQ(row.values.size(), ShapeFeatures(OperatorName(problem))->operation.size());
    for (const double value : row.values) EXPECT_TRUE(std::isfinite(value));
    EXPECT_EQ(row.values[1], std::max(Flops(problem), 1.0));
  }
  EXPECT_THAT(ShapeFeatures("pool").status().message(), HasSubstr("'pool'"));
}

}  // namespace
}  // namespace attune
