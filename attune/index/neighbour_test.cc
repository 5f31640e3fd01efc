#include "attune/index/neighbour.h"

#include <cmath>

#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"

namespace attune {
namespace {

Problem GemmWith(void (*change)(Gemm&)) {
  Gemm gemm = PackedGemm(64, 32, 16);
  gemm.lda = gemm.ldb = gemm.ldc = 0;
  change(gemm);
  return Normalized(gemm);
}

Problem ConvWith(void (*change)(Conv&)) {
  Conv conv;
  conv.in_channels = 8;
  conv.out_channels = 16;
  conv.in = {1, 32, 32};
  conv.filter = {1, 3, 3};
  change(conv);
  return conv;
}

const Problem kGemm = GemmWith([](Gemm&) {});
const Problem kConv = ConvWith([](Conv&) {});

TEST(NeighbourTest, SizesDoNotChangeTheFamily) {
  EXPECT_EQ(FamilyOf(kGemm), FamilyOf(PackedGemm(1000, 3, 7)));
  EXPECT_EQ(FamilyOf(kConv), FamilyOf(ConvWith([](Conv& conv) {
              conv.batch = 7;
              conv.in_channels = 3;
              conv.out_channels = 5;
              conv.in = {1, 9, 11};
            })));
}

TEST(NeighbourTest, AlignmentDoesNotChangeTheFamily) {
  EXPECT_EQ(FamilyOf(kGemm), FamilyOf(GemmWith([](Gemm& gemm) { gemm.alignment_bytes = 4; })));
}

TEST(NeighbourTest, WhatIsNoSizeChangesTheFamilyOfAGemm) {
  const Problem others[] = {
      GemmWith([](Gemm& gemm) { gemm.trans_a = Transpose::kYes; }),
      GemmWith([](Gemm& gemm) { gemm.trans_b = Transpose::kYes; }),
      GemmWith([](Gemm& gemm) { gemm.type = gemm.c_type = DataType::kF64; }),
      GemmWith([](Gemm& gemm) { gemm.math = MathMode::kTf32; }),
      GemmWith([](Gemm& gemm) { gemm.alpha = ScalarClass::kOther; }),
      GemmWith([](Gemm& gemm) { gemm.beta = ScalarClass::kOne; }),
      GemmWith([](Gemm& gemm) { gemm.bias = Bias::kPerRow; }),
      GemmWith([](Gemm& gemm) { gemm.activation = Activation::kRelu; }),
      GemmWith([](Gemm& gemm) { gemm.deterministic = true; }),
      GemmWith([](Gemm& gemm) { gemm.batch_count = 2; }),
      GemmWith([](Gemm& gemm) {
        gemm.batch_count = 2;
        gemm.stride_a = gemm.stride_b = kPackedStride;
      }),
      GemmWith([](Gemm& gemm) { gemm.lda = 100; }),
      GemmWith([](Gemm& gemm) { gemm.ldb = 100; }),
      GemmWith([](Gemm& gemm) { gemm.ldc = 100; }),
      GemmWith([](Gemm& gemm) { gemm.m = 1; }),
      GemmWith([](Gemm& gemm) { gemm.n = 1; }),
  };
  for (size_t i = 0; i < std::size(others); ++i) {
    EXPECT_NE(FamilyOf(others[i]), FamilyOf(kGemm)) << Text(others[i]);
    for (size_t k = 0; k < i; ++k) EXPECT_NE(FamilyOf(others[i]), FamilyOf(others[k]));
  }
}

TEST(NeighbourTest, WhatIsNoSizeChangesTheFamilyOfAConvolution) {
  const Problem others[] = {
      ConvWith([](Conv& conv) { conv.direction = ConvDirection::kBackwardData; }),
      ConvWith([](Conv& conv) { conv.mode = ConvMode::kTransposed; }),
      ConvWith([](Conv& conv) { conv.in_layout = Layout::kNhwc; }),
      ConvWith([](Conv& conv) { conv.weights_layout = Layout::kNhwc; }),
      ConvWith([](Conv& conv) { conv.out_layout = Layout::kNhwc; }),
      ConvWith([](Conv& conv) { conv.type = DataType::kBf16; }),
      ConvWith([](Conv& conv) { conv.math = MathMode::kBf16; }),
      ConvWith([](Conv& conv) { conv.bias = true; }),
      ConvWith([](Conv& conv) { conv.deterministic = true; }),
      ConvWith([](Conv& conv) {
        conv.filter = {1, 1, 1};
      }),
      ConvWith([](Conv& conv) {
        conv.stride = {1, 2, 2};
      }),
      ConvWith([](Conv& conv) {
        conv.dilation = {1, 2, 2};
      }),
      ConvWith([](Conv& conv) {
        conv.pad = {0, 1, 1};
      }),
      ConvWith([](Conv& conv) { conv.groups = 2; }),
      ConvWith([](Conv& conv) { conv.groups = 8; }),
  };
  for (size_t i = 0; i < std::size(others); ++i) {
    EXPECT_NE(FamilyOf(others[i]), FamilyOf(kConv)) << Text(others[i]);
    for (size_t k = 0; k < i; ++k) EXPECT_NE(FamilyOf(others[i]), FamilyOf(others[k]));
  }
}

TEST(NeighbourTest, HowMuchPaddingDoesNotChangeTheFamily) {
  EXPECT_EQ(FamilyOf(GemmWith([](Gemm& gemm) { gemm.lda = 100; })),
            FamilyOf(GemmWith([](Gemm& gemm) { gemm.lda = 200; })));
}

TEST(NeighbourTest, OtherOperatorsHaveNoFamily) { EXPECT_EQ(FamilyOf(OtherOp{"pool", {}}), ""); }

TEST(NeighbourTest, AProblemWithTwiceTheSizeIsOneAway) {
  const Problem twice = GemmWith([](Gemm& gemm) { gemm.k = 32; });

  EXPECT_DOUBLE_EQ(Distance(PositionOf(kGemm), PositionOf(twice)), 1);
  EXPECT_DOUBLE_EQ(Distance(PositionOf(twice), PositionOf(kGemm)), 1);
  EXPECT_EQ(Distance(PositionOf(kGemm), PositionOf(kGemm)), 0);
}

TEST(NeighbourTest, DistancesInSeveralSizesAreEuclidean) {
  const Problem other = ConvWith([](Conv& conv) {
    conv.in_channels = 64;
    conv.in = {1, 32, 512};
  });

  EXPECT_DOUBLE_EQ(Distance(PositionOf(kConv), PositionOf(other)), 5);
}

}  // namespace
}  // namespace attune
