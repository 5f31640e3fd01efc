#include "extensions/models/samples/gemm_features.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

double Value(const FeatureRow& row, const std::string& name) {
  const std::vector<std::string> names = GemmFeatures().operation;
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << name;
  return row.values[static_cast<size_t>(found - names.begin())];
}

TEST(GemmFeatures, CountsAreThoseOfTheProductAndItsTiles) {
  const FeatureRow row = GemmRow(PackedGemm(20, 10, 30), "blas", {});

  ASSERT_EQ(row.values.size(), GemmFeatures().operation.size());
  EXPECT_EQ(Value(row, "flops"), 2.0 * 20 * 10 * 30);
  EXPECT_EQ(Value(row, "padded_flops"), 2.0 * 32 * 12 * 30);
  EXPECT_EQ(Value(row, "bytes"), 4.0 * (20 * 30 + 30 * 10 + 20 * 10));
  EXPECT_EQ(Value(row, "tiles"), 6);
  EXPECT_EQ(Value(row, "last_m"), 4);
}

TEST(GemmFeatures, TrafficGrowsOnceTheSmallerOperandLeavesTheCache) {
  ProcessorShape processor;
  processor.level2_bytes = 1 << 20;
  const Gemm fits = PackedGemm(4000, 100, 100);
  const Gemm leaves = PackedGemm(4000, 1000, 1000);

  EXPECT_EQ(Value(GemmRow(fits, "", processor), "beyond_l2"),
            4.0 * (4000 * 100 + 100 * 100 + 2 * 4000 * 100));
  EXPECT_EQ(Value(GemmRow(leaves, "", processor), "beyond_l2"),
            4.0 * (8 * 4000.0 * 1000 + 1000 * 1000 + 2 * 4000.0 * 1000));
}

TEST(GemmFeatures, ThreadsShareTheTilesAndBatchesMultiplyThem) {
  Gemm gemm = PackedGemm(32, 8, 16);
  gemm.batch_count = 3;
  ProcessorShape processor;
  processor.threads = 4;

  EXPECT_EQ(Value(GemmRow(gemm, "", processor), "tiles"), 3);
  EXPECT_EQ(Value(GemmRow(gemm, "", processor), "flops"), 3.0 * 2 * 32 * 8 * 16);
}

}  // namespace
}  // namespace attune
