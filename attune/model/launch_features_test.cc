#include "attune/model/launch_features.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/model/shape_features.h"
#include "attune/model/time_model.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::SizeIs;

double Value(const FeatureSet& features, const KernelRow& row, const std::string& name) {
  const auto found = std::ranges::find(features.kernel, name);
  EXPECT_NE(found, features.kernel.end()) << name;
  return row.values[static_cast<size_t>(found - features.kernel.begin())];
}

// A launch of 300 blocks, with 2 on each of 100 multiprocessors.
LaunchProfile SampleProfile() {
  LaunchProfile profile;
  profile.multiprocessors = 100;
  profile.kernels.push_back({"a", 300, 256, 100, 4096, 2});
  return profile;
}

TEST(LaunchFeatures, AKernelsColumnsAreOfItsLaunchAndOfTheProblem) {
  const FeatureSet features = *LaunchFeatures("gemm");
  const Problem problem = Normalized(PackedGemm(30, 20, 10));

  const std::vector<KernelRow> rows = KernelRowsOf(problem, SampleProfile());

  ASSERT_THAT(rows, SizeIs(1));
  ASSERT_THAT(rows[0].values, SizeIs(features.kernel.size()));
  EXPECT_EQ(rows[0].signature, "a");
  EXPECT_EQ(Value(features, rows[0], "waves"), 2);
  EXPECT_EQ(Value(features, rows[0], "part"), 1.5);
  EXPECT_EQ(Value(features, rows[0], "last_wave"), 0.75);
  EXPECT_EQ(Value(features, rows[0], "reduction"), 10);
  EXPECT_EQ(Value(features, rows[0], "waves_q"), 20);
  EXPECT_EQ(Value(features, rows[0], "block_outputs"), 2);
  EXPECT_EQ(Value(features, rows[0], "waves_work"), 2 * 2 * 2 * 10);
  EXPECT_EQ(Value(features, rows[0], "busy_work"), 2 * 2 * 10);
  EXPECT_EQ(Value(features, rows[0], "registers"), 100);
}

TEST(LaunchFeatures, WhatIsNotKnownOfALaunchLeavesItsColumnsFinite) {
  LaunchProfile profile;
  profile.kernels.push_back({"a", 0, 0, 0, 0, 0});

  const auto rows = KernelRowsOf(Problem(Conv{}), profile);
  for (const double value : rows[0].values) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(LaunchFeatures, AreThoseOfShapesWithColumnsForKernelsAndHaveANameOfTheirOwn) {
  for (const std::string operator_name : {"conv", "gemm"}) {
    const FeatureSet shapes = *ShapeFeatures(operator_name);
    const FeatureSet launches = *LaunchFeatures(operator_name);

    EXPECT_EQ(launches.operation, shapes.operation);
    EXPECT_EQ(launches.name, operator_name + "_launch_1");
    EXPECT_EQ(*OperatorOfFeatures(launches.name), operator_name);
    EXPECT_EQ(*FeaturesCalled(launches.name, operator_name), launches);
    EXPECT_EQ(*FeaturesCalled("any", operator_name), shapes);
  }
  EXPECT_FALSE(LaunchFeatures("pool").ok());
}

// Times are of waves, which no shape says: it takes the launch to know them.
TEST(LaunchFeatures, AModelUsesThemWhereTheyAreAndDoesWithoutWhereTheyAreNot) {
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 60; ++i) {
    const Problem problem = Normalized(PackedGemm(64 + 8 * i, 64, 64));
    LaunchProfile profile = SampleProfile();
    profile.kernels[0].blocks = 1 + 37 * i % 41 * 100;
    Sample sample;
    sample.row = ShapeRow(problem, "a");
    sample.row.kernels = KernelRowsOf(problem, profile);
    sample.time_ms = std::ceil(Waves(profile.kernels[0], profile.multiprocessors));
    sample.kernel_times_ms = {sample.time_ms};
    sample.configuration = static_cast<uint64_t>(i);
    samples.push_back(std::move(sample));
  }
  TimeModel model = *TimeModel::Standard(*LaunchFeatures("gemm"), {});
  ASSERT_TRUE(model.Fit(samples).ok());
  const Problem never_seen = Normalized(PackedGemm(100, 64, 64));
  LaunchProfile profile = SampleProfile();
  profile.kernels[0].blocks = 1500;  // 8 waves.
  std::vector<FeatureRow> rows(2, ShapeRow(never_seen, "a"));
  rows[0].kernels = KernelRowsOf(never_seen, profile);

  std::vector<Prediction> predictions(2);
  model.Predict(rows, predictions);

  EXPECT_NEAR(predictions[0].median_ms, 8, 0.8);
  EXPECT_GT(predictions[1].median_ms, 0);
}

}  // namespace
}  // namespace attune
