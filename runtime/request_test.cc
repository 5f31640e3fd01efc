#include "runtime/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string TextOf(const Result<Problem>& problem) {
  return problem.ok() ? Text(*problem) : problem.error().message();
}

TEST(Request, ZerosOfAProductHaveTheirDefaults) {
  attune_gemm gemm{};
  gemm.m = 5;
  gemm.n = 6;
  gemm.k = 7;
  EXPECT_EQ(TextOf(ProblemOf(gemm, {1, 0, 1})), "gemm@1{m=5,n=6,k=7}");
  EXPECT_EQ(TextOf(ProblemOf(gemm, {1, 0, 0})), "gemm@1{m=5,n=6,k=7,align=4}");
}

TEST(Request, EveryFieldOfAProductArrives) {
  attune_gemm gemm{};
  gemm.m = 5;
  gemm.n = 6;
  gemm.k = 7;
  gemm.lda = 20;
  gemm.ldb = 21;
  gemm.ldc = 22;
  gemm.batch_count = 3;
  gemm.stride_a = 200;
  gemm.stride_b = 300;
  gemm.stride_c = 400;
  gemm.trans_a = 1;
  gemm.type = ATTUNE_F64;
  gemm.bias = ATTUNE_BIAS_PER_ROW;
  gemm.activation = ATTUNE_TANH;
  gemm.deterministic = 1;
  gemm.alignment_bytes = 32;
  const auto problem = ProblemOf(gemm, {2, 2, 0});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const Gemm& read = problem->Get<Gemm>();
  EXPECT_EQ(read.lda, 20);
  EXPECT_EQ(read.ldb, 21);
  EXPECT_EQ(read.ldc, 22);
  EXPECT_EQ(read.batch_count, 3);
  EXPECT_EQ(read.stride_a, 200);
  EXPECT_EQ(read.stride_b, 300);
  EXPECT_EQ(read.stride_c, 400);
  EXPECT_EQ(read.trans_a, Transpose::kYes);
  EXPECT_EQ(read.trans_b, Transpose::kNo);
  EXPECT_EQ(read.type, DataType::kF64);
  EXPECT_EQ(read.c_type, DataType::kF64);
  EXPECT_EQ(read.bias, Bias::kPerRow);
  EXPECT_EQ(read.activation, Activation::kTanh);
  EXPECT_TRUE(read.deterministic);
  EXPECT_EQ(read.alignment_bytes, 32);
  EXPECT_EQ(read.alpha, ScalarClass::kOther);
  EXPECT_EQ(read.beta, ScalarClass::kOther);
}

TEST(Request, EveryFieldOfAConvolutionArrives) {
  attune_conv conv{};
  conv.batch = 2;
  conv.in_channels = 6;
  conv.out_channels = 9;
  conv.groups = 3;
  for (int i = 0; i < 3; ++i) {
    conv.in[i] = 10 + i;
    conv.filter[i] = 2 + i;
    conv.pad[i] = i;
    conv.stride[i] = 1 + i;
    conv.dilation[i] = 1 + (i == 2);
  }
  conv.direction = ATTUNE_FORWARD;
  conv.spatial_rank = 3;
  conv.in_layout = conv.weights_layout = ATTUNE_NCDHW;
  conv.out_layout = ATTUNE_NDHWC;
  conv.bias = 1;
  const auto problem = ProblemOf(conv, {1, 0, 1});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  const Conv& read = problem->Get<Conv>();
  EXPECT_EQ(read.groups, 3);
  EXPECT_EQ(read.in, (Spatial{10, 11, 12}));
  EXPECT_EQ(read.filter, (Spatial{2, 3, 4}));
  EXPECT_EQ(read.pad, (Spatial{0, 1, 2}));
  EXPECT_EQ(read.stride, (Spatial{1, 2, 3}));
  EXPECT_EQ(read.dilation, (Spatial{1, 1, 2}));
  EXPECT_EQ(read.spatial_rank, 3);
  EXPECT_EQ(read.out_layout, Layout::kNdhwc);
  EXPECT_TRUE(read.bias);
  EXPECT_EQ(read.alignment_bytes, kWideAlignmentBytes);
}

TEST(Request, ProductsOfI8AreOfI32AndAlignedLikeThem) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = 4;
  gemm.type = ATTUNE_I8;
  const auto problem = ProblemOf(gemm, {1, 0, 0});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  EXPECT_EQ(Text(*problem), "gemm@1{m=4,n=4,k=4,type=i8,ctype=i32,align=4}");

  attune_conv conv{};
  conv.type = ATTUNE_I8;
  EXPECT_THAT(TextOf(ProblemOf(conv, {})), HasSubstr("'type' is 4; it has to be from 0 to 3"));
}

TEST(Request, ValuesOutsideOfAnEnumerationAreRefusedByName) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = 1;
  gemm.trans_b = 2;
  EXPECT_THAT(TextOf(ProblemOf(gemm, {})), HasSubstr("'trans_b' is 2"));
  gemm.trans_b = 0;
  gemm.type = -1;
  EXPECT_THAT(TextOf(ProblemOf(gemm, {})), HasSubstr("'type' is -1"));
  attune_conv conv{};
  conv.direction = 9;
  EXPECT_THAT(TextOf(ProblemOf(conv, {})), HasSubstr("'direction' is 9"));
}

TEST(Request, SizesThatMakeNoProblemAreRefused) {
  attune_gemm gemm{};
  gemm.m = -4;
  gemm.n = gemm.k = 1;
  EXPECT_EQ(ProblemOf(gemm, {}).status().code(), StatusCode::kInvalidArgument);
}

TEST(Request, CallsThatDifferInAnythingHaveDifferentKeys) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = 8;
  const PlanKey key = KeyOfCall(gemm, {1, 0, 0}, 100);
  EXPECT_EQ(key, KeyOfCall(gemm, {1, 0, 0}, 100));
  EXPECT_FALSE(key == KeyOfCall(gemm, {1, 0, 0}, 101));
  EXPECT_FALSE(key == KeyOfCall(gemm, {1, 0, 1}, 100));
  EXPECT_FALSE(key == KeyOfCall(gemm, {2, 0, 0}, 100));
  EXPECT_FALSE(key == KeyOfCall(gemm, {1, 1, 0}, 100));
  EXPECT_TRUE(key == PartsOfCall(gemm, {1, 0, 0}, 100));
  EXPECT_FALSE(key == PartsOfCall(gemm, {1, 0, 0}, 101));
  EXPECT_FALSE(key == PartsOfCall(gemm, {1, 0, 1}, 100));
  // Every byte of the struct counts.
  auto* bytes = reinterpret_cast<unsigned char*>(&gemm);
  for (size_t i = 0; i < sizeof gemm; ++i) {
    bytes[i] ^= 0x40;
    EXPECT_FALSE(key == KeyOfCall(gemm, {1, 0, 0}, 100)) << "byte " << i;
    EXPECT_FALSE(key == PartsOfCall(gemm, {1, 0, 0}, 100)) << "byte " << i;
    bytes[i] ^= 0x40;
  }
}

}  // namespace
}  // namespace attune
