#include "attune/ops/gemm/gemm.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

TEST(GemmTest, PackedGemmFillsLeadingDimensionsOfStoredMatrices) {
  Gemm gemm = PackedGemm(3, 5, 7, DataType::kF64);

  EXPECT_EQ(gemm.lda, 3);
  EXPECT_EQ(gemm.ldb, 7);
  EXPECT_EQ(gemm.ldc, 3);
  EXPECT_EQ(gemm.c_type, DataType::kF64);
  EXPECT_TRUE(Validate(gemm).ok());

  gemm.trans_a = gemm.trans_b = Transpose::kYes;
  gemm.lda = gemm.ldb = 0;
  gemm = Normalized(gemm);
  EXPECT_EQ(gemm.lda, 7);
  EXPECT_EQ(gemm.ldb, 5);
}

TEST(GemmTest, PropertiesThatCannotMatterAreDropped) {
  Gemm gemm = PackedGemm(4, 1, 6);
  gemm.ldb = 100;  // One stored column.
  gemm.ldc = 100;
  gemm.stride_a = 1000;  // One matrix.

  EXPECT_EQ(Normalized(gemm), PackedGemm(4, 1, 6));
}

TEST(GemmTest, SharedAndPackedStridesAreDifferentProblems) {
  Gemm shared = PackedGemm(4, 5, 6);
  shared.batch_count = 3;
  Gemm packed = shared;
  packed.stride_a = packed.stride_b = kPackedStride;

  shared = Normalized(shared);
  packed = Normalized(packed);

  EXPECT_EQ(shared.stride_a, 0);
  EXPECT_EQ(packed.stride_a, 24);
  EXPECT_EQ(packed.stride_b, 30);
  EXPECT_EQ(shared.stride_c, 20);
  EXPECT_NE(shared, packed);
}

TEST(GemmTest, NormalisationIsIdempotentOnRandomProblems) {
  Random random(3);
  const auto extent = [&random] { return static_cast<int64_t>(1 + random.Below(3)); };
  for (int i = 0; i < 1000; ++i) {
    Gemm gemm;
    gemm.m = extent();
    gemm.n = extent();
    gemm.k = extent();
    gemm.trans_a = static_cast<Transpose>(random.Below(2));
    gemm.trans_b = static_cast<Transpose>(random.Below(2));
    gemm.lda = static_cast<int64_t>(random.Below(6));
    gemm.ldb = static_cast<int64_t>(random.Below(6));
    gemm.batch_count = extent();
    gemm.stride_a = static_cast<int64_t>(random.Below(3)) - 1;
    gemm.stride_c = static_cast<int64_t>(random.Below(40)) - 1;

    const Gemm once = Normalized(gemm);

    EXPECT_EQ(Normalized(once), once);
  }
}

std::string ErrorOf(const Gemm& gemm) { return Validate(Normalized(gemm)).message(); }

TEST(GemmTest, ErrorsNameFieldValueAndLimit) {
  Gemm gemm = PackedGemm(4, 5, 6);
  gemm.m = 0;
  EXPECT_EQ(ErrorOf(gemm), "m of the gemm is 0, outside of [1, 2147483647].");
  gemm = PackedGemm(4, 5, 6);
  gemm.lda = 3;
  EXPECT_EQ(ErrorOf(gemm),
            "Leading dimension 3 of A in the gemm is outside of [4 (its stored rows), "
            "2147483647].");
  gemm = PackedGemm(4, 5, 6);
  gemm.alignment_bytes = 48;
  EXPECT_NE(ErrorOf(gemm).find("48 bytes; it must be a power of two from 4"), std::string::npos);
  gemm = PackedGemm(4, 5, 6, DataType::kF64);
  gemm.math = MathMode::kTf32;
  EXPECT_NE(ErrorOf(gemm).find("math mode tf32 with type f64"), std::string::npos);
}

TEST(GemmTest, HugeOperandsAreReportedAndNeverOverflow) {
  const int64_t huge = (int64_t{1} << 31) - 1;
  EXPECT_NE(ErrorOf(PackedGemm(huge, huge, huge)).find("spans more than"), std::string::npos);
  Gemm gemm = PackedGemm(4, 5, 6);
  gemm.batch_count = huge;
  gemm.stride_a = (int64_t{1} << 40) - 1;
  EXPECT_NE(ErrorOf(gemm).find("spans more than"), std::string::npos);
  gemm = PackedGemm(4, 5, 6);
  gemm.lda = std::numeric_limits<int64_t>::max();
  gemm.batch_count = 2;
  gemm.stride_a = kPackedStride;
  EXPECT_FALSE(Validate(Normalized(gemm)).ok());
}

TEST(GemmTest, MatricesOfCMayInterleaveButNotOverlap) {
  Gemm gemm = PackedGemm(4, 5, 6);
  gemm.batch_count = 3;
  gemm.ldc = 12;
  gemm.stride_c = 4;
  EXPECT_TRUE(Validate(Normalized(gemm)).ok()) << ErrorOf(gemm);

  gemm.stride_c = 3;
  EXPECT_NE(ErrorOf(gemm).find("overlap"), std::string::npos);
  gemm.stride_c = 4;
  gemm.ldc = 11;
  EXPECT_NE(ErrorOf(gemm).find("overlap"), std::string::npos);
}

}  // namespace
}  // namespace attune
