#include "extensions/interposers/blas/product.h"

#include <limits>

#include <gtest/gtest.h>

namespace attune::blas {
namespace {

const float kA[1] = {};
const float kB[1] = {};
float c[1] = {};

GemmCall<float> Gemm(int64_t m, int64_t n, int64_t k) {
  return {Transpose::kNo, Transpose::kNo, m, n, k, 1, kA, m, kB, k, 0, c, m};
}

GemvCall<float> Gemv(int64_t m, int64_t n) {
  return {Transpose::kNo, m, n, 1, kA, m, kB, 1, 0, c, 1};
}

TEST(ProductTest, ColumnMajorGemmIsKeptAsItIs) {
  Product product;
  GemmCall<float> call = Gemm(2, 3, 4);
  call.trans_b = Transpose::kYes;
  call.ldb = 7;

  const Verdict verdict = Describe(call, product);

  EXPECT_EQ(verdict, Verdict::kServe);
  EXPECT_EQ(product.gemm.m, 2);
  EXPECT_EQ(product.gemm.n, 3);
  EXPECT_EQ(product.gemm.k, 4);
  EXPECT_EQ(product.gemm.trans_a, 0);
  EXPECT_EQ(product.gemm.trans_b, 1);
  EXPECT_EQ(product.gemm.ldb, 7);
  EXPECT_EQ(product.gemm.type, ATTUNE_F32);
  EXPECT_EQ(product.arguments.a, kA);
}

TEST(ProductTest, RowMajorGemmSwapsItsOperands) {
  Product product;
  GemmCall<float> call = Gemm(2, 3, 4);
  call.trans_a = Transpose::kYes;
  call.lda = 2;
  call.ldb = 3;
  call.ldc = 3;

  const Verdict verdict = Describe(kRowMajor, call, product);

  EXPECT_EQ(verdict, Verdict::kServe);
  EXPECT_EQ(product.gemm.m, 3);
  EXPECT_EQ(product.gemm.n, 2);
  EXPECT_EQ(product.gemm.trans_a, 0);
  EXPECT_EQ(product.gemm.trans_b, 1);
  EXPECT_EQ(product.arguments.a, kB);
  EXPECT_EQ(product.arguments.b, kA);
}

TEST(ProductTest, GemvIsAProductWithOneColumn) {
  Product product;

  const Verdict verdict = Describe(Gemv(5, 3), product);

  EXPECT_EQ(verdict, Verdict::kServe);
  EXPECT_EQ(product.gemm.m, 5);
  EXPECT_EQ(product.gemm.n, 1);
  EXPECT_EQ(product.gemm.k, 3);
  EXPECT_EQ(product.gemm.trans_a, 0);
}

TEST(ProductTest, RowMajorGemvIsATransposedOne) {
  Product product;
  GemvCall<float> call = Gemv(5, 3);
  call.lda = 3;

  const Verdict verdict = Describe(kRowMajor, call, product);

  EXPECT_EQ(verdict, Verdict::kServe);
  EXPECT_EQ(product.gemm.m, 5);
  EXPECT_EQ(product.gemm.k, 3);
  EXPECT_EQ(product.gemm.trans_a, 1);
}

TEST(ProductTest, WhatLeavesNoProductIsEmpty) {
  Product product;
  GemmCall<float> no_alpha = Gemm(2, 3, 4);
  no_alpha.alpha = 0;

  EXPECT_EQ(Describe(no_alpha, product), Verdict::kEmpty);
  for (GemmCall<float> call : {Gemm(0, 3, 4), Gemm(2, 0, 4), Gemm(2, 3, 0)}) {
    call.lda = call.ldb = call.ldc = 4;
    EXPECT_EQ(Describe(call, product), Verdict::kEmpty);
  }
}

TEST(ProductTest, NanAndInfiniteScalarsAreLeftToTheProgram) {
  Product product;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float scalar : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    GemmCall<float> alpha = Gemm(2, 3, 4);
    alpha.alpha = scalar;
    GemvCall<float> beta = Gemv(5, 3);
    beta.beta = scalar;

    EXPECT_EQ(Describe(alpha, product), Verdict::kNotFinite);
    EXPECT_EQ(Describe(beta, product), Verdict::kNotFinite);
  }
}

TEST(ProductTest, IncrementsOtherThanOneAreStrided) {
  Product product;
  for (const int64_t increment : {2, -1}) {
    GemvCall<float> x = Gemv(5, 3);
    x.incx = increment;
    GemvCall<float> y = Gemv(5, 3);
    y.incy = increment;

    EXPECT_EQ(Describe(x, product), Verdict::kStrided);
    EXPECT_EQ(Describe(y, product), Verdict::kStrided);
  }
}

TEST(ProductTest, WrongArgumentsOfGemmAreInvalid) {
  Product product;
  const auto changed = [](auto change) {
    GemmCall<float> call = Gemm(4, 4, 4);
    change(call);
    return call;
  };
  for (const GemmCall<float>& call :
       {changed([](auto& x) { x.m = -1; }), changed([](auto& x) { x.n = -1; }),
        changed([](auto& x) { x.k = -1; }), changed([](auto& x) { x.lda = 3; }),
        changed([](auto& x) { x.ldb = 3; }), changed([](auto& x) { x.ldc = 3; }),
        changed([](auto& x) { x.trans_a = Transpose::kInvalid; }),
        changed([](auto& x) { x.trans_b = Transpose::kInvalid; })}) {
    EXPECT_EQ(Describe(call, product), Verdict::kInvalid);
  }
  EXPECT_EQ(Describe(100, Gemm(4, 4, 4), product), Verdict::kInvalid);
}

TEST(ProductTest, WrongArgumentsOfGemvAreInvalid) {
  Product product;
  const auto changed = [](auto change) {
    GemvCall<float> call = Gemv(4, 4);
    change(call);
    return call;
  };
  for (const GemvCall<float>& call :
       {changed([](auto& x) { x.m = -1; }), changed([](auto& x) { x.n = -1; }),
        changed([](auto& x) { x.lda = 3; }), changed([](auto& x) { x.incx = 0; }),
        changed([](auto& x) { x.incy = 0; }),
        changed([](auto& x) { x.trans = Transpose::kInvalid; })}) {
    EXPECT_EQ(Describe(call, product), Verdict::kInvalid);
    EXPECT_EQ(Describe(kRowMajor, call, product), Verdict::kInvalid);
  }
}

TEST(ProductTest, FlagsAreThoseOfBlasOnly) {
  for (const char* flag : {"N", "n"}) EXPECT_EQ(ParseTranspose(flag), Transpose::kNo);
  for (const char* flag : {"T", "t", "C", "c"}) EXPECT_EQ(ParseTranspose(flag), Transpose::kYes);
  for (const char* flag : {"R", "", "x"}) EXPECT_EQ(ParseTranspose(flag), Transpose::kInvalid);
  EXPECT_EQ(ParseTranspose(111), Transpose::kNo);
  EXPECT_EQ(ParseTranspose(112), Transpose::kYes);
  EXPECT_EQ(ParseTranspose(113), Transpose::kYes);
  EXPECT_EQ(ParseTranspose(114), Transpose::kInvalid);
}

}  // namespace
}  // namespace attune::blas
