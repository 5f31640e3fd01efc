#include "attune/verify/rotation.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"

namespace attune {
namespace {

constexpr size_t kNoLimit = size_t{1} << 40;

RotationPlan PlanOf(const Gemm& gemm, int64_t budget_bytes) {
  const auto plan = PlanRotation(Operands(Problem(Normalized(gemm))), budget_bytes, 64, kNoLimit);
  EXPECT_TRUE(plan.ok());
  return plan.ok() ? *plan : RotationPlan{};
}

TEST(RotationTest, TheCopiesTogetherExceedTheBudget) {
  const Gemm gemm = PackedGemm(64, 64, 64);
  const int64_t copy_bytes = 3 * 64 * 64 * 4;

  EXPECT_EQ(PlanOf(gemm, 0).copies, 1u);
  EXPECT_EQ(PlanOf(gemm, copy_bytes - 1).copies, 1u);
  EXPECT_EQ(PlanOf(gemm, copy_bytes).copies, 2u);
  EXPECT_EQ(PlanOf(gemm, 10 * copy_bytes).copies, 11u);
  EXPECT_EQ(PlanOf(PackedGemm(1, 1, 1), int64_t{1} << 40).copies, kMaxRotationCopies);
}

TEST(RotationTest, PaddedOperandsAreCopiedWithTheirGaps) {
  Gemm gemm = PackedGemm(4, 5, 6);
  gemm.lda = 100;
  gemm.batch_count = 3;
  gemm.stride_a = 1000;
  gemm.stride_b = kPackedStride;

  const RotationPlan plan = PlanOf(gemm, 1 << 20);

  // Two whole strides, five whole columns, and the last column as far as it is used.
  const size_t a_bytes = (2 * 1000 + 5 * 100 + 4) * 4;
  EXPECT_EQ(plan.operand_offsets[1], (a_bytes + 63) / 64 * 64);
  EXPECT_EQ(plan.total_bytes, plan.copies * plan.copy_bytes);
}

TEST(RotationTest, ACopyAboveTheLimitIsRefusedAndCopiesStayBelowIt) {
  const auto operands = Operands(Problem(PackedGemm(64, 64, 64)));

  EXPECT_EQ(PlanRotation(operands, 1 << 30, 64, 1000).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(PlanRotation(operands, 1 << 30, 64, 100'000)->copies, 2u);
}

TEST(RotationTest, EveryCopyIsUsedEquallyOftenAcrossCandidates) {
  for (const size_t copies : {1u, 2u, 3u, 4u, 7u}) {
    RotationPlan plan;
    plan.copies = copies;
    plan.copy_bytes = 64;
    Rotation rotation(plan);
    std::map<size_t, int> uses;
    size_t last = copies;
    for (int candidate = 0; candidate < 5; ++candidate) {
      for (size_t run = 0; run < copies * 2 + 1; ++run) {
        const size_t now = rotation.Next();
        EXPECT_TRUE(copies == 1 || now != last);
        last = now;
        ++uses[now];
      }
    }
    ASSERT_EQ(uses.size(), copies);
    for (const auto& [copy, count] : uses) {
      EXPECT_NEAR(count, 5.0 * static_cast<double>(copies * 2 + 1) / static_cast<double>(copies),
                  1.0)
          << copy;
    }
  }
}

TEST(RotationTest, CopiesHoldRealData) {
  const auto operands = Operands(Problem(PackedGemm(2, 2, 2)));
  const auto plan = PlanRotation(operands, 300, 64, kNoLimit);
  ASSERT_TRUE(plan.ok());
  std::vector<std::byte> block(plan->total_bytes);
  const std::vector<std::byte> a(16, std::byte{1});
  const std::vector<std::byte> b(16, std::byte{2});
  const std::vector<std::byte> c(16, std::byte{3});
  const std::vector<std::span<const std::byte>> sources = {a, b, c};

  FillRotation(*plan, sources, block);

  Rotation rotation(*plan);
  for (size_t i = 0; i < plan->copies; ++i) {
    const size_t start = rotation.NextOffset();
    EXPECT_EQ(block[start + plan->operand_offsets[0] + 15], std::byte{1});
    EXPECT_EQ(block[start + plan->operand_offsets[1]], std::byte{2});
    EXPECT_EQ(block[start + plan->operand_offsets[2] + 15], std::byte{3});
  }
  EXPECT_GT(plan->copies, 1u);
}

}  // namespace
}  // namespace attune
