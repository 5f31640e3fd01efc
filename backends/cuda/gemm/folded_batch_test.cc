#include "backends/cuda/gemm/folded_batch.h"

#include <gmock/gmock.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;

const char* const kFoldable[] = {
    // Columns, product by product.
    "gemm@1{m=5,n=3,k=7,batch=4,sa=0}",
    "gemm@1{m=5,n=3,k=7,ta=t,batch=4,sa=0}",
    "gemm@1{m=5,n=3,k=7,lda=9,ldb=8,ldc=6,batch=4,sa=0,sb=24,sc=18}",
    "gemm@1{m=5,n=3,k=7,tb=t,ldb=12,batch=4,sa=0,sb=3}",
    "gemm@1{m=5,n=3,k=1,tb=t,batch=4,sa=0,sb=3}",
    "gemm@1{m=5,n=3,k=1,batch=4,sa=0}",
    "gemm@1{m=1,n=3,k=7,batch=4,sa=0}",
    // Column by column of all products.
    "gemm@1{m=5,n=3,k=7,ldb=32,ldc=24,batch=4,sa=0,sb=8,sc=6}",
    // One column each, at any distance.
    "gemm@1{m=5,n=1,k=7,batch=4,sa=0,sb=9,sc=6}",
    "gemm@1{m=5,n=1,k=7,tb=t,ldb=4,batch=4,sa=0,sb=1,sc=6}",
    // Rows.
    "gemm@1{m=5,n=3,k=7,lda=21,ldc=22,batch=4,sa=5,sb=0,sc=5}",
    "gemm@1{m=5,n=3,k=7,ta=t,ldc=20,batch=4,sb=0,sc=5}",
    "gemm@1{m=5,n=3,k=7,ta=t,lda=8,ldc=20,batch=4,sa=40,sb=0,sc=5}",
    "gemm@1{m=5,n=1,k=7,ta=t,batch=4,sb=0}",
    "gemm@1{m=5,n=3,k=1,ldc=20,batch=4,sb=0,sc=5}",
    "gemm@1{m=1,n=3,k=7,ta=t,ldc=4,batch=4,sa=9,sb=0,sc=1}",
    "gemm@1{m=1,n=3,k=7,lda=4,ldc=4,batch=4,sa=1,sb=0,sc=1}",
    // Properties that all products share are kept.
    "gemm@1{m=5,n=3,k=7,batch=4,sa=0,alpha=other,beta=other}",
    "gemm@1{m=5,n=3,k=7,batch=4,sa=0,bias=row}",
};

TEST(FoldedBatchTest, TheFoldedProductIsTheBatch) {
  for (const char* text : kFoldable) {
    const Gemm gemm = GemmOf(text);
    std::vector<OperandValues> operands = OperandsOnHost(gemm);
    const OperandValues expected = ExpectedOf(gemm, operands);

    const auto folded = FoldedBatch(gemm);

    ASSERT_TRUE(folded.ok()) << text << ": " << folded.status().message();
    EXPECT_EQ(folded->batch_count, 1);
    EXPECT_EQ(folded->m * folded->n, gemm.m * gemm.n * gemm.batch_count);
    MultiplyOnHost(*folded, operands);
    EXPECT_EQ(operands.back(), expected) << text;
  }
}

TEST(FoldedBatchTest, TheRestOfTheProblemIsKept) {
  const auto folded = FoldedBatch(
      GemmOf("gemm@1{m=64,n=8,k=32,batch=4,sa=0,type=bf16,ctype=f32,act=relu,align=16,det=1}"));

  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_EQ(*folded, GemmOf("gemm@1{m=64,n=32,k=32,type=bf16,ctype=f32,act=relu,align=16,det=1}"));
}

struct Refusal {
  const char* text;
  const char* reason;
};

TEST(FoldedBatchTest, WhatIsNoSingleProductIsRefusedWithTheReason) {
  const Refusal refusals[] = {
      {"gemm@1{m=5,n=3,k=7}", "no batch"},
      {"gemm@1{m=5,n=3,k=7,batch=4}", "neither A nor B"},
      {"gemm@1{m=5,n=3,k=7,batch=4,sa=0,sb=0}", "no single sequence"},
      // C with a gap behind every matrix; B with one.
      {"gemm@1{m=5,n=3,k=7,batch=4,sa=0,sc=20}", "no single sequence"},
      {"gemm@1{m=5,n=3,k=7,batch=4,sa=0,sb=30}", "no single sequence"},
      // Both are sequences, in orders that differ.
      {"gemm@1{m=5,n=3,k=7,ldb=32,batch=4,sa=0,sb=8}", "no single sequence"},
      // Contiguous columns of B, in C that interleaves, and transposed.
      {"gemm@1{m=5,n=3,k=7,tb=t,batch=4,sa=0}", "no single sequence"},
      {"gemm@1{m=5,n=3,k=7,tb=t,ldb=11,batch=4,sa=0,sb=3}", "no single sequence"},
      // Columns that overlap in B.
      {"gemm@1{m=5,n=1,k=7,batch=4,sa=0,sb=3}", "no single sequence"},
      // Rows of C are contiguous only where its matrices interleave.
      {"gemm@1{m=5,n=3,k=7,ta=t,batch=4,sb=0}", "no single sequence"},
      {"gemm@1{m=5,n=3,k=7,ldc=20,batch=4,sb=0,sc=5}", "no single sequence"},
      {"gemm@1{m=5,n=3,k=7,batch=4,sa=0,bias=column}", "bias"},
      {"gemm@1{m=5,n=1,k=7,ta=t,batch=4,sb=0,bias=row}", "bias"},
      {"gemm@1{m=5,n=65536,k=7,batch=65536,sa=0}", "4294967296"},
  };
  for (const Refusal& refusal : refusals) {
    const Status status = FoldedBatch(GemmOf(refusal.text)).status();

    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << refusal.text;
    EXPECT_THAT(status.message(), HasSubstr(refusal.reason)) << refusal.text;
  }
}

}  // namespace
}  // namespace attune::cuda
