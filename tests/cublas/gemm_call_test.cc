#include "extensions/interposers/cublas/gemm_call.h"

#include <limits>

#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune::cublas {
namespace {

const float kOne = 1;
const float kZero = 0;
const float kA[1] = {};
const float kB[1] = {};
float c[1] = {};

GemmCall Gemm(int64_t m, int64_t n, int64_t k, cudaDataType type = CUDA_R_32F,
              cublasComputeType_t compute = CUBLAS_COMPUTE_32F) {
  return {CUBLAS_OP_N, CUBLAS_OP_N,     m, n,      k, &kOne, {kA, type, m, 0}, {kB, type, k, 0},
          &kZero,      {c, type, m, 0}, 1, compute};
}

Outcome Describe(const GemmCall& call, Product& product) {
  return Describe(call, HandleState{}, product);
}

Outcome OutcomeOf(const GemmCall& call, HandleState handle = {}) {
  Product product;
  return Describe(call, handle, product);
}

HandleState WithMath(int mode) {
  HandleState handle;
  handle.math = static_cast<cublasMath_t>(mode);
  return handle;
}

TEST(GemmCallTest, EveryArgumentReachesItsField) {
  GemmCall call = Gemm(2, 3, 4);
  const float alpha = 0.5, beta = -2;
  call.alpha = &alpha;
  call.beta = &beta;
  call.trans_b = CUBLAS_OP_C;
  call.a.leading = 7;
  call.b.leading = 8;
  call.c.leading = 9;
  Product product;

  const Outcome outcome = Describe(call, product);

  EXPECT_EQ(outcome, Outcome::kServed);
  EXPECT_EQ(product.gemm.m, 2);
  EXPECT_EQ(product.gemm.n, 3);
  EXPECT_EQ(product.gemm.k, 4);
  EXPECT_EQ(product.gemm.lda, 7);
  EXPECT_EQ(product.gemm.ldb, 8);
  EXPECT_EQ(product.gemm.ldc, 9);
  EXPECT_EQ(product.gemm.trans_a, 0);
  EXPECT_EQ(product.gemm.trans_b, 1);
  EXPECT_EQ(product.gemm.type, ATTUNE_F32);
  EXPECT_EQ(product.gemm.alignment_bytes, 0);
  EXPECT_EQ(product.arguments.a, kA);
  EXPECT_EQ(product.arguments.b, kB);
  EXPECT_EQ(product.arguments.c, c);
  EXPECT_EQ(product.arguments.alpha, 0.5);
  EXPECT_EQ(product.arguments.beta, -2);
}

TEST(GemmCallTest, AHalfIsScaledByFloats) {
  for (const auto& [type, wanted] :
       {std::pair{CUDA_R_16F, ATTUNE_F16}, std::pair{CUDA_R_16BF, ATTUNE_BF16}}) {
    Product product;
    EXPECT_EQ(Describe(Gemm(2, 3, 4, type), product), Outcome::kServed);
    EXPECT_EQ(product.gemm.type, wanted);
    EXPECT_EQ(product.gemm.math, ATTUNE_STRICT);
    EXPECT_EQ(product.arguments.alpha, 1);
  }
}

TEST(GemmCallTest, DoublesAreScaledByDoubles) {
  GemmCall call = Gemm(2, 3, 4, CUDA_R_64F, CUBLAS_COMPUTE_64F);
  const double alpha = 1e-300, beta = 0;
  call.alpha = &alpha;
  call.beta = &beta;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.type, ATTUNE_F64);
  EXPECT_EQ(product.arguments.alpha, 1e-300);
}

TEST(GemmCallTest, IntegersAreScaledByIntegersAndAddedIn32Bits) {
  GemmCall call = Gemm(4, 8, 12, CUDA_R_8I, CUBLAS_COMPUTE_32I);
  const int32_t alpha = -3, beta = 1;
  call.alpha = &alpha;
  call.beta = &beta;
  call.c.type = CUDA_R_32I;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.type, ATTUNE_I8);
  EXPECT_EQ(product.arguments.alpha, -3);
  EXPECT_EQ(product.arguments.beta, 1);

  call.compute = CUBLAS_COMPUTE_32I_PEDANTIC;
  EXPECT_EQ(OutcomeOf(call), Outcome::kMath);
  call.compute = CUBLAS_COMPUTE_32F;
  EXPECT_EQ(OutcomeOf(call), Outcome::kMath);
  call.compute = CUBLAS_COMPUTE_32I;
  for (const cudaDataType c_type : {CUDA_R_8I, CUDA_R_32F}) {
    call.c.type = c_type;
    EXPECT_EQ(OutcomeOf(call), Outcome::kTypes) << c_type;
  }
}

TEST(GemmCallTest, StridesOfOneMatrixDoNotMatter) {
  GemmCall call = Gemm(2, 3, 4);
  call.a.stride = call.b.stride = call.c.stride = -5;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.stride_a, 0);
  EXPECT_EQ(product.gemm.stride_c, 0);
}

TEST(GemmCallTest, ABatchMayShareItsInputs) {
  GemmCall call = Gemm(2, 3, 4);
  call.batch_count = 5;
  call.b.stride = 12;
  call.c.stride = 6;
  Product product;

  EXPECT_EQ(Describe(call, product), Outcome::kServed);
  EXPECT_EQ(product.gemm.batch_count, 5);
  EXPECT_EQ(product.gemm.stride_a, 0);
  EXPECT_EQ(product.gemm.stride_b, 12);
  EXPECT_EQ(product.gemm.stride_c, 6);
}

TEST(GemmCallTest, AnOutputThatABatchSharesIsNoProblem) {
  GemmCall call = Gemm(2, 3, 4);
  call.batch_count = 5;

  EXPECT_EQ(OutcomeOf(call), Outcome::kLayout);
}

TEST(GemmCallTest, MathOfFloatsComesFromTheComputationAndTheHandle) {
  struct Case {
    cublasComputeType_t compute;
    int mode;
    int32_t math;
  };
  for (const Case& x :
       {Case{CUBLAS_COMPUTE_32F, CUBLAS_DEFAULT_MATH, ATTUNE_STRICT},
        Case{CUBLAS_COMPUTE_32F, CUBLAS_TF32_TENSOR_OP_MATH, ATTUNE_TF32},
        Case{CUBLAS_COMPUTE_32F, 16 | CUBLAS_TF32_TENSOR_OP_MATH, ATTUNE_TF32},
        Case{CUBLAS_COMPUTE_32F, 16, ATTUNE_STRICT},
        Case{CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_DEFAULT_MATH, ATTUNE_TF32},
        Case{CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_DEFAULT_MATH, ATTUNE_BF16_MATH}}) {
    Product product;
    const GemmCall call = Gemm(2, 3, 4, CUDA_R_32F, x.compute);
    EXPECT_EQ(Describe(call, WithMath(x.mode), product), Outcome::kServed);
    EXPECT_EQ(product.gemm.math, x.math) << x.compute << " with mode " << x.mode;
  }
}

TEST(GemmCallTest, MathThatNoProblemHasIsPassed) {
  for (const auto compute :
       {CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_COMPUTE_16F,
        CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32I}) {
    EXPECT_EQ(OutcomeOf(Gemm(2, 3, 4, CUDA_R_32F, compute)), Outcome::kMath) << compute;
  }
  for (const int mode :
       {CUBLAS_PEDANTIC_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_FP32_EMULATED_BF16X9_MATH}) {
    EXPECT_EQ(OutcomeOf(Gemm(2, 3, 4), WithMath(mode)), Outcome::kMath) << mode;
  }
  EXPECT_EQ(OutcomeOf(Gemm(2, 3, 4, CUDA_R_16F, CUBLAS_COMPUTE_16F)), Outcome::kMath);
  EXPECT_EQ(OutcomeOf(Gemm(2, 3, 4, CUDA_R_16BF), WithMath(CUBLAS_PEDANTIC_MATH)), Outcome::kMath);
}

TEST(GemmCallTest, TypesThatNoProblemHasArePassed) {
  GemmCall mixed = Gemm(2, 3, 4, CUDA_R_16BF);
  mixed.c.type = CUDA_R_32F;

  EXPECT_EQ(OutcomeOf(mixed), Outcome::kTypes);
  for (const auto type : {CUDA_R_8I, CUDA_R_8F_E4M3, CUDA_C_32F, CUDA_C_64F}) {
    EXPECT_EQ(OutcomeOf(Gemm(2, 3, 4, type)), Outcome::kTypes) << type;
  }
}

TEST(GemmCallTest, WhatIsInvalidIsLeftToTheLibrary) {
  GemmCall narrow = Gemm(2, 3, 4);
  narrow.trans_b = CUBLAS_OP_T;
  narrow.b.leading = 2;
  GemmCall flag = Gemm(2, 3, 4);
  flag.trans_a = CUBLAS_OP_CONJG;
  GemmCall scalar = Gemm(2, 3, 4);
  scalar.alpha = nullptr;

  EXPECT_EQ(OutcomeOf(Gemm(-1, 3, 4)), Outcome::kInvalid);
  EXPECT_EQ(OutcomeOf(narrow), Outcome::kInvalid);
  EXPECT_EQ(OutcomeOf(flag), Outcome::kInvalid);
  EXPECT_EQ(OutcomeOf(scalar), Outcome::kInvalid);
}

TEST(GemmCallTest, AnInfiniteAlphaIsPassed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  GemmCall call = Gemm(2, 3, 4);
  call.alpha = &kInfinity;

  EXPECT_EQ(OutcomeOf(call), Outcome::kNotFinite);
}

TEST(GemmCallTest, AnEmptyProductIsPassed) {
  GemmCall scaled = Gemm(2, 3, 4);
  scaled.alpha = &kZero;
  GemmCall none = Gemm(2, 3, 4);
  none.batch_count = 0;
  GemmCall flat = Gemm(2, 3, 0);
  flat.b.leading = 1;

  EXPECT_EQ(OutcomeOf(scaled), Outcome::kEmpty);
  EXPECT_EQ(OutcomeOf(none), Outcome::kEmpty);
  EXPECT_EQ(OutcomeOf(flat), Outcome::kEmpty);
}

TEST(GemmCallTest, ScalarsOnTheDeviceAreNotRead) {
  GemmCall call = Gemm(2, 3, 4);
  call.alpha = reinterpret_cast<const void*>(8);  // Not to be followed here.
  HandleState handle;
  handle.pointer_mode = CUBLAS_POINTER_MODE_DEVICE;

  EXPECT_EQ(OutcomeOf(call, handle), Outcome::kScalars);
}

TEST(GemmCallTest, AlignmentIsSaidWhereTheRunTimeDoesNotSeeIt) {
  const auto alignment_of = [](intptr_t a, intptr_t b, intptr_t bias, intptr_t c_address) {
    attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
    arguments.a = reinterpret_cast<void*>(a);
    arguments.b = reinterpret_cast<void*>(b);
    arguments.bias = reinterpret_cast<void*>(bias);
    arguments.c = reinterpret_cast<void*>(c_address);
    return AlignmentOf(arguments);
  };

  EXPECT_EQ(alignment_of(512, 1024, 0, 64), 0);
  EXPECT_EQ(alignment_of(512, 1024 + 16, 0, 64), 16);
  EXPECT_EQ(alignment_of(512, 1024, 32, 64), 16);
  EXPECT_EQ(alignment_of(512, 1024, 0, 64 + 8), 0);
}

TEST(GemmCallTest, TheStreamBecomesTheQueue) {
  const auto queue_of = [](intptr_t stream) {
    return reinterpret_cast<intptr_t>(QueueOf(reinterpret_cast<cudaStream_t>(stream)));
  };

  EXPECT_EQ(queue_of(0), 1);  // CU_STREAM_LEGACY
  EXPECT_EQ(queue_of(1), 1);
  EXPECT_EQ(queue_of(2), 2);  // CU_STREAM_PER_THREAD
  EXPECT_EQ(queue_of(4096), 4096);
}

}  // namespace
}  // namespace attune::cublas
