#include "attune/formats/tunableop.h"

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

std::string TextOf(std::string_view line) {
  const auto problems = ReadTunableOpLine(line);
  return problems.has_value() ? Text(problems->front()) : problems.error().reason;
}

size_t ColumnOf(std::string_view line) {
  const auto problems = ReadTunableOpLine(line);
  EXPECT_FALSE(problems.has_value()) << line;
  return problems.has_value() ? 0 : problems.error().column;
}

TEST(TunableOpTest, EveryFormOfALineIsRead) {
  EXPECT_EQ(TextOf("GemmTunableOp_float_NT,nt_25088_4096_64"), "gemm@1{m=25088,n=4096,k=64,tb=t}");
  EXPECT_EQ(TextOf("GemmTunableOp_BFloat16_TN,tn_4096_128_4096_ld_4096_4096_4096"),
            "gemm@1{m=4096,n=128,k=4096,ta=t,type=bf16}");
  EXPECT_EQ(TextOf("GemmTunableOp_Half_NN,nn_5_6_7_ld_8_9_10"),
            "gemm@1{m=5,n=6,k=7,lda=8,ldb=9,ldc=10,type=f16}");
  EXPECT_EQ(TextOf("GemmTunableOp_tf32_NN,nn_5_6_7_ld_5_7_5"), "gemm@1{m=5,n=6,k=7,math=tf32}");
  EXPECT_EQ(TextOf("GemmStridedBatchedTunableOp_double_NN,nn_5_6_7_B_8_ld_5_7_5"),
            "gemm@1{m=5,n=6,k=7,batch=8,type=f64}");
  EXPECT_EQ(TextOf("GemmStridedBatchedTunableOp_float_NN,nn_5_6_7_B_8"),
            "gemm@1{m=5,n=6,k=7,batch=8}");
  EXPECT_EQ(TextOf("GemmAndBiasTunableOp_float_TN,tn_5_6_7_ld_7_7_5"),
            "gemm@1{m=5,n=6,k=7,ta=t,bias=row}");
}

TEST(TunableOpTest, FurtherColumnsDoNotMatter) {
  const std::string plain = TextOf("GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5");

  EXPECT_EQ(TextOf("GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5,Gemm_Rocblas_42,0.0171"), plain);
  EXPECT_EQ(
      TextOf("GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5,BLAS_PARAMS: - { function: matmul, M: 5 }"),
      plain);
  EXPECT_EQ(TextOf("GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5,Default,1,BLAS_PARAMS: - { a, b }"),
            plain);
}

TEST(TunableOpTest, ProductsThatAGemmCannotExpressAreKept) {
  EXPECT_EQ(TextOf("ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,"
                   "tn_5_6_7_ld_7_7_5_rw_1_bias_None"),
            "scaled_gemm@1{params=tn_5_6_7_ld_7_7_5_rw_1_bias_None,tunableop=ScaledGemmTunableOp,"
            "types=Float8_e4m3fn_Float8_e4m3fn_BFloat16}");
  EXPECT_EQ(TextOf("GemmTunableOp_c10::complex<float>_NN,nn_1_2_3_ld_1_3_1"),
            "other_gemm@1{params=nn_1_2_3_ld_1_3_1,tunableop=GemmTunableOp,"
            "types=c10%3A%3Acomplex%3Cfloat%3E}");
}

TEST(TunableOpTest, ErrorsHaveTheColumnOfTheirCause) {
  EXPECT_EQ(ColumnOf("GemmTunableOp_flat_NN,nn_5_6_7"), 15u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NX,nn_5_6_7"), 21u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN"), 23u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nt_5_6_7"), 24u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_5_x_7"), 29u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_5_6"), 30u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_*_6_7"), 27u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_5_6_7_ld_5_7"), 39u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_5_6_7_ld_4_7_5"), 24u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_5_6_7_extra"), 33u);
  EXPECT_EQ(ColumnOf("GemmTunableOp_float_NN,nn_5_6_7_B_3"), 24u);
  EXPECT_EQ(ColumnOf("GemmStridedBatchedTunableOp_float_NN,nn_5_6_7"), 38u);
}

TEST(TunableOpTest, KeysReadBackAsTheSameProblem) {
  Random random(47);
  const DataType types[] = {DataType::kF32, DataType::kF64, DataType::kF16, DataType::kBf16};
  for (int i = 0; i < 2000; ++i) {
    Gemm gemm;
    gemm.m = static_cast<int64_t>(1 + random.Below(100));
    gemm.n = static_cast<int64_t>(1 + random.Below(100));
    gemm.k = static_cast<int64_t>(1 + random.Below(100));
    gemm.trans_a = static_cast<Transpose>(random.Below(2));
    gemm.trans_b = static_cast<Transpose>(random.Below(2));
    gemm.lda = random.Below(2) == 0 ? 0 : 200;
    gemm.batch_count = static_cast<int64_t>(1 + random.Below(3));
    gemm.stride_a = gemm.stride_b = kPackedStride;
    gemm.type = gemm.c_type = types[random.Below(4)];
    if (gemm.batch_count == 1 && random.Below(2) == 0) gemm.bias = Bias::kPerRow;
    gemm = Normalized(gemm);

    const auto key = TunableOpKeyOf(gemm);

    ASSERT_TRUE(key.ok());
    EXPECT_EQ(*ReadTunableOpLine(key->op + "," + key->params), std::vector<Problem>{gemm});
  }
}

TEST(TunableOpTest, ProblemsWithoutAKeyAreRefused) {
  EXPECT_EQ(TunableOpKeyOf(PackedGemm(1, 2, 3, DataType::kI8)).status().code(),
            StatusCode::kUnsupported);
  Gemm gemm = PackedGemm(1, 2, 3);
  gemm.bias = Bias::kPerColumn;
  EXPECT_FALSE(TunableOpKeyOf(gemm).ok());
}

}  // namespace
}  // namespace attune
