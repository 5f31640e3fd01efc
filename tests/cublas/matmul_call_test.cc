#include "extensions/interposers/cublas/matmul_call.h"

#include <gtest/gtest.h>

namespace attune::cublas {
namespace {

const float kOne = 1;
const float kZero = 0;
const float kA[1] = {};
const float kB[1] = {};
const float kBias[1] = {};
float d[1] = {};
float other[1] = {};

MatrixLayout Layout(uint64_t rows, uint64_t columns) {
  MatrixLayout layout;
  layout.type = CUDA_R_16BF;
  layout.rows = rows;
  layout.columns = columns;
  layout.leading = static_cast<int64_t>(rows);
  return layout;
}

// D (2 x 3) of A^T, stored 4 x 2, and B, stored 4 x 3.
MatmulCall Matmul() {
  MatmulCall call = {.operation = {},
                     .alpha = &kOne,
                     .a = kA,
                     .a_layout = Layout(4, 2),
                     .b = kB,
                     .b_layout = Layout(4, 3),
                     .beta = &kZero,
                     .c = d,
                     .c_layout = Layout(2, 3),
                     .d = d,
                     .d_layout = Layout(2, 3),
                     .stream = nullptr};
  call.operation.trans_a = CUBLAS_OP_T;
  return call;
}

Outcome OutcomeOf(const MatmulCall& call) {
  Product product;
  return Describe(call, product);
}

TEST(MatmulCallTest, SizesComeFromTheLayouts) {
  Product product;

  const Outcome outcome = Describe(Matmul(), product);

  EXPECT_EQ(outcome, Outcome::kServed);
  EXPECT_EQ(product.gemm.m, 2);
  EXPECT_EQ(product.gemm.n, 3);
  EXPECT_EQ(product.gemm.k, 4);
  EXPECT_EQ(product.gemm.trans_a, 1);
  EXPECT_EQ(product.gemm.trans_b, 0);
  EXPECT_EQ(product.gemm.lda, 4);
  EXPECT_EQ(product.gemm.ldb, 4);
  EXPECT_EQ(product.gemm.ldc, 2);
  EXPECT_EQ(product.gemm.type, ATTUNE_BF16);
  EXPECT_EQ(product.gemm.bias, ATTUNE_BIAS_NONE);
  EXPECT_EQ(product.arguments.c, d);
  EXPECT_EQ(product.arguments.bias, nullptr);
  EXPECT_EQ(product.arguments.queue, reinterpret_cast<void*>(1));
}

TEST(MatmulCallTest, ABiasIsAddedToTheRowsOfD) {
  MatmulCall call = Matmul();
  call.operation.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  call.operation.bias = kBias;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.bias, ATTUNE_BIAS_PER_ROW);
  EXPECT_EQ(product.gemm.activation, ATTUNE_RELU);
  EXPECT_EQ(product.arguments.bias, kBias);
}

TEST(MatmulCallTest, AReluNeedsNoBias) {
  MatmulCall call = Matmul();
  call.operation.epilogue = CUBLASLT_EPILOGUE_RELU;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.bias, ATTUNE_BIAS_NONE);
  EXPECT_EQ(product.gemm.activation, ATTUNE_RELU);
}

TEST(MatmulCallTest, IntegersAreServedWithoutAnEpilogue) {
  const int32_t one = 1, zero = 0;
  MatmulCall call = Matmul();
  call.a_layout.type = call.b_layout.type = CUDA_R_8I;
  call.c_layout.type = call.d_layout.type = CUDA_R_32I;
  call.operation.compute = CUBLAS_COMPUTE_32I;
  call.operation.scale_type = CUDA_R_32I;
  call.alpha = &one;
  call.beta = &zero;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.type, ATTUNE_I8);
  EXPECT_EQ(product.arguments.alpha, 1);

  call.operation.epilogue = CUBLASLT_EPILOGUE_RELU;
  EXPECT_EQ(OutcomeOf(call), Outcome::kEpilogue);
  call.operation.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  call.operation.scale_type = CUDA_R_32F;
  EXPECT_EQ(OutcomeOf(call), Outcome::kTypes);
}

TEST(MatmulCallTest, OtherEpiloguesArePassed) {
  for (const uint32_t epilogue :
       {CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
        CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_DRELU}) {
    MatmulCall call = Matmul();
    call.operation.epilogue = epilogue;
    call.operation.bias = kBias;
    EXPECT_EQ(OutcomeOf(call), Outcome::kEpilogue) << epilogue;
  }
}

TEST(MatmulCallTest, ABiasOfAnotherTypeIsPassed) {
  MatmulCall call = Matmul();
  call.operation.epilogue = CUBLASLT_EPILOGUE_BIAS;
  call.operation.bias = kBias;

  call.operation.bias_type = CUDA_R_32F;
  EXPECT_EQ(OutcomeOf(call), Outcome::kTypes);
  call.operation.bias_type = CUDA_R_16BF;
  EXPECT_EQ(OutcomeOf(call), Outcome::kServed);
}

TEST(MatmulCallTest, OneBiasServesABatch) {
  MatmulCall call = Matmul();
  call.operation.epilogue = CUBLASLT_EPILOGUE_BIAS;
  call.operation.bias = kBias;
  for (MatrixLayout* layout : {&call.a_layout, &call.b_layout, &call.c_layout, &call.d_layout}) {
    layout->batch_count = 2;
    layout->stride = 100;
  }

  EXPECT_EQ(OutcomeOf(call), Outcome::kServed);
  call.operation.bias_stride = 2;
  EXPECT_EQ(OutcomeOf(call), Outcome::kEpilogue);
}

TEST(MatmulCallTest, CIsAddedOnlyWhereDIs) {
  const float half = 0.5;
  MatmulCall apart = Matmul();
  apart.c = other;
  EXPECT_EQ(OutcomeOf(apart), Outcome::kServed);  // beta 0: C is not read.

  apart.beta = &half;
  EXPECT_EQ(OutcomeOf(apart), Outcome::kLayout);
  MatmulCall in_place = Matmul();
  in_place.beta = &half;
  EXPECT_EQ(OutcomeOf(in_place), Outcome::kServed);
  in_place.c_layout.leading = 5;
  EXPECT_EQ(OutcomeOf(in_place), Outcome::kLayout);
}

TEST(MatmulCallTest, LayoutsThatNoProblemHasArePassed) {
  MatmulCall rows = Matmul();
  rows.b_layout.order = CUBLASLT_ORDER_ROW;
  MatmulCall pointers = Matmul();
  pointers.a_layout.batch_mode = CUBLASLT_BATCH_MODE_POINTER_ARRAY;
  MatmulCall planes = Matmul();
  planes.d_layout.plane_offset = 64;
  MatmulCall batches = Matmul();
  batches.a_layout.batch_count = 2;
  MatmulCall scaled = Matmul();
  scaled.operation.has_scales = true;
  MatmulCall upper = Matmul();
  upper.operation.fill_mode = CUBLAS_FILL_MODE_UPPER;

  for (const MatmulCall& call : {rows, pointers, planes, batches, scaled, upper}) {
    EXPECT_EQ(OutcomeOf(call), Outcome::kLayout);
  }
}

TEST(MatmulCallTest, LayoutsThatDoNotFitAreLeftToTheLibrary) {
  MatmulCall call = Matmul();
  call.b_layout.rows = 5;

  EXPECT_EQ(OutcomeOf(call), Outcome::kInvalid);
}

TEST(MatmulCallTest, ScalarsOfAnotherTypeOrPlaceArePassed) {
  MatmulCall wide = Matmul();
  wide.operation.scale_type = CUDA_R_64F;
  MatmulCall on_device = Matmul();
  on_device.operation.pointer_mode = CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;

  EXPECT_EQ(OutcomeOf(wide), Outcome::kTypes);
  EXPECT_EQ(OutcomeOf(on_device), Outcome::kScalars);
}

}  // namespace
}  // namespace attune::cublas
