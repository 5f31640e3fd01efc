#include "extensions/models/samples/conv_features.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

double Value(const std::vector<std::string>& names, const std::vector<double>& values,
             const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << name;
  return values[static_cast<size_t>(found - names.begin())];
}

Conv SampleConv() {
  Conv conv;
  conv.batch = 2;
  conv.in_channels = 16;
  conv.out_channels = 32;
  conv.in = {1, 10, 10};
  conv.filter = {1, 3, 3};
  return conv;
}

TEST(ConvFeatures, CountsAreThoseOfTheProblem) {
  const FeatureSet names = ConvFeatures();

  const FeatureRow row = ConvRow(SampleConv(), "1", {});

  ASSERT_EQ(row.values.size(), names.operation.size());
  EXPECT_EQ(Value(names.operation, row.values, "flops"), 2.0 * 2 * 64 * 32 * 16 * 9);
  EXPECT_EQ(Value(names.operation, row.values, "in_bytes"), 4.0 * 2 * 16 * 100);
  EXPECT_EQ(Value(names.operation, row.values, "weight_bytes"), 4.0 * 32 * 16 * 9);
  EXPECT_EQ(Value(names.operation, row.values, "out_bytes"), 4.0 * 2 * 32 * 64);
  EXPECT_EQ(Value(names.operation, row.values, "im2col_bytes"), 4.0 * 2 * 64 * 16 * 9);
  EXPECT_TRUE(row.kernels.empty());
}

TEST(ConvFeatures, WavesAreBlocksOverWhatIsResident) {
  const FeatureSet names = ConvFeatures();
  LaunchProfile profile;
  profile.multiprocessors = 100;
  profile.kernels.push_back({"sm80_tilesize128x64x8_x", 300, 256, 100, 4096, 2});

  const FeatureRow row = ConvRow(SampleConv(), "1", profile);

  ASSERT_EQ(row.kernels.size(), 1u);
  const std::vector<double>& values = row.kernels[0].values;
  ASSERT_EQ(values.size(), names.kernel.size());
  EXPECT_EQ(Value(names.kernel, values, "waves"), 2);
  EXPECT_EQ(Value(names.kernel, values, "part"), 1.5);
  EXPECT_EQ(Value(names.kernel, values, "last_wave"), 0.75);
  EXPECT_EQ(Value(names.kernel, values, "waves_q"), 2.0 * 16 * 9);
  EXPECT_EQ(Value(names.kernel, values, "tile_m"), 128);
  EXPECT_EQ(Value(names.kernel, values, "tile_waves_q"), 128.0 * 64 * 16 * 9);  // One tile in all.
  EXPECT_EQ(Value(names.operation, row.values, "launches"), 1);
}

TEST(LaunchProfile, TilesAreReadOutOfNames) {
  EXPECT_EQ(TileOf("sm80_xmma_fprop_implicit_gemm_f32f32_tilesize256x64x8_stage3_warpsize2x2x1"),
            (TileExtents{256, 64, 8}));
  EXPECT_EQ(
      TileOf("_ZN7cutlass7Kernel2I50cutlass_80_tensorop_s1688gemm_64x128_16x6_nn_align4EEvNT_"),
      (TileExtents{64, 128, 16}));
  EXPECT_EQ(TileOf("cudnn_infer_maxwell_scudnn_winograd_128x128_ldg1_ldg4_relu_tile244n_nt_v1"),
            (TileExtents{128, 128, 0}));
  EXPECT_EQ(TileOf("_Z11flip_filterIffEvPT0_PKT_iiii"), TileExtents{});
  EXPECT_EQ(TileOf("tilesize_9999999999999999999999x4"), TileExtents{});
}

TEST(LaunchProfile, WhatIsNotKnownCountsAsOneBlockOnOneMultiprocessor) {
  EXPECT_EQ(Waves({"k", 12, 0, 0, 0, 0}, 0), 12);
}

TEST(ConvRow, ATransposedConvolutionHasTheFlopsOfTheProblem) {
  Conv conv;
  conv.mode = ConvMode::kTransposed;
  conv.in_channels = 8;
  conv.out_channels = 4;
  conv.in = {1, 5, 5};
  conv.filter = {1, 3, 3};
  conv.stride = {1, 2, 2};

  const FeatureRow row = ConvRow(conv, "a", {});

  EXPECT_EQ(row.values[1], Flops(Problem(conv)));
}

}  // namespace
}  // namespace attune
