#include "backends/cuda/gemm/split_product.h"

#include <cmath>

#include <gmock/gmock.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout_on_host_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kProblems[] = {
    "gemm@1{m=9,n=5,k=512,type=f16}",
    "gemm@1{m=9,n=5,k=1031,type=f16}",
    "gemm@1{m=9,n=5,k=1031,ta=t,type=f16}",
    "gemm@1{m=9,n=5,k=1031,tb=t,type=f16}",
    "gemm@1{m=9,n=5,k=1031,ta=t,tb=t,lda=1035,ldb=7,ldc=11,type=f16}",
    "gemm@1{m=9,n=5,k=1031,lda=16,ldb=1040,ldc=11,type=f16,beta=one}",
    "gemm@1{m=1,n=5,k=700,ta=t,type=f16}",
    "gemm@1{m=9,n=1,k=700,type=f16}",
    "gemm@1{m=1,n=1,k=4111,type=f16}",
    "gemm@1{m=300,n=3,k=257,type=f16,bias=row}",
    "gemm@1{m=3,n=300,k=257,type=f16,bias=column,beta=one}",
    "gemm@1{m=9,n=5,k=600,type=f16,alpha=other,beta=other,bias=row,act=relu}",
    "gemm@1{m=9,n=5,k=600,type=f16,bias=column,act=gelu}",
    "gemm@1{m=9,n=5,k=600,type=f16,act=tanh,alpha=zero,beta=one}",
    "gemm@1{m=9,n=5,k=600,type=f16,act=sigmoid}",
};

std::vector<int64_t> CountsOf(const Gemm& gemm) {
  const auto counts = PartCounts(gemm);
  EXPECT_TRUE(counts.ok()) << counts.status().message();
  return counts.ok() ? *counts : std::vector<int64_t>();
}

// The solver's steps on the host: products by loops, sums by the same kernel.
OperandValues Computed(const Gemm& gemm, const SplitProduct& split,
                       const std::vector<OperandValues>& operands) {
  OperandValues sums(split.sums_bytes / sizeof(HostSum), 9999);
  MultiplyOnHost(split.product,
                 {.a = operands[0].data(), .b = operands[1].data(), .c = sums.data()});
  if (split.rest.has_value()) {
    MultiplyOnHost(*split.rest, {.a = operands[0].data() + split.rest_a,
                                 .b = operands[1].data() + split.rest_b,
                                 .c = sums.data(),
                                 .beta = 1});
  }
  const std::vector<HostSum> from(sums.begin(), sums.end());
  const std::vector<HostElement> bias = Narrowed(operands[2 % operands.size()]);
  std::vector<HostElement> to = Narrowed(operands.back());
  PartialSums task = split.sums;
  task.from = from.data();
  task.to = to.data();
  task.alpha = AlphaValue(gemm);
  task.beta = BetaValue(gemm);
  if (gemm.bias != Bias::kNone) task.bias = bias.data();
  AddPartsOnHost(task);
  return Widened(to);
}

TEST(SplitProductTest, TheSumOfThePartsIsTheProduct) {
  for (const char* text : kProblems) {
    const Gemm gemm = GemmOf(text);
    const std::vector<OperandValues> operands = OperandsOnHost(gemm);
    OperandValues expected = ExpectedOf(gemm, operands);
    for (double& value : expected) value = static_cast<double>(std::lround(value));
    for (const int64_t parts : CountsOf(gemm)) {
      const SplitProduct split = SplitAlongK(gemm, parts);

      EXPECT_EQ(split.product.batch_count, parts);
      EXPECT_EQ(Computed(gemm, split, operands), expected) << text << " in " << parts;
    }
  }
}

TEST(SplitProductTest, PartsAreEqualAndBeginAtWholeWords) {
  const SplitProduct split = SplitAlongK(GemmOf("gemm@1{m=33,n=16,k=1031,ta=t,type=bf16}"), 4);

  EXPECT_EQ(split.product.k, 256);
  EXPECT_EQ(split.product.stride_a, 256);
  EXPECT_EQ(split.product.c_type, DataType::kF32);
  EXPECT_EQ(split.product.ldc, 36);
  EXPECT_EQ(split.product.stride_c, 36 * 16);
  EXPECT_EQ(split.sums_bytes, 4u * 4 * 36 * 16);
  ASSERT_TRUE(split.rest.has_value());
  EXPECT_EQ(split.rest->k, 7);
  EXPECT_EQ(split.rest->beta, ScalarClass::kOne);
  EXPECT_EQ(split.rest_a, 1024);
  EXPECT_EQ(split.rest->alignment_bytes, 64);
}

TEST(SplitProductTest, PartsOfWholeColumnsNeedNoWords) {
  const SplitProduct split = SplitAlongK(GemmOf("gemm@1{m=33,n=17,k=1036,tb=t,type=bf16}"), 4);

  EXPECT_EQ(split.product.k, 259);
  EXPECT_EQ(split.product.stride_a, 259 * 33);
  EXPECT_FALSE(split.rest.has_value());
}

TEST(SplitProductTest, WhatThePartsLeavePromisesNoMoreThanItsAddressKeeps) {
  const SplitProduct split =
      SplitAlongK(GemmOf("gemm@1{m=33,n=17,k=1037,lda=35,ldb=19,tb=t,type=bf16}"), 4);

  ASSERT_TRUE(split.rest.has_value());
  EXPECT_EQ(split.rest_a, 1036 * 35);
  EXPECT_EQ(split.rest_b, 1036 * 19);
  EXPECT_EQ(split.rest->alignment_bytes, 8);  // The largest power of 2 in 1036 * 2 * 35.
}

TEST(SplitProductTest, CountsThatFillTheDeviceOnceComeFirst) {
  EXPECT_THAT(CountsOf(GemmOf("gemm@1{m=64,n=64,k=65536}")), ElementsAre(32, 16, 8, 4, 2));
  EXPECT_THAT(CountsOf(GemmOf("gemm@1{m=512,n=1024,k=65536}")), ElementsAre(4, 2, 8, 16, 32));
  EXPECT_THAT(CountsOf(GemmOf("gemm@1{m=1024,n=2048,k=65536}")), ElementsAre(2, 4, 8));
  EXPECT_THAT(CountsOf(GemmOf("gemm@1{m=64,n=64,k=700}")), ElementsAre(4, 2));
}

TEST(SplitProductTest, PartialSumsKeepToTheirLimit) {
  for (const char* text : {"gemm@1{m=4096,n=2048,k=65536,type=f64}",
                           "gemm@1{m=1,n=65536,k=65536,type=f64}", "gemm@1{m=65536,n=1,k=65536}"}) {
    const Gemm gemm = GemmOf(text);
    for (const int64_t parts : CountsOf(gemm)) {
      EXPECT_LE(SplitAlongK(gemm, parts).sums_bytes, size_t{kMostScratchBytes}) << text << parts;
    }
  }
}

struct Refusal {
  const char* text;
  const char* reason;
};

TEST(SplitProductTest, WhatIsNotSplitIsRefusedWithTheReason) {
  const Refusal refusals[] = {
      {"gemm@1{m=64,n=64,k=255}", "k = 255 is too short"},
      {"gemm@1{m=8192,n=8192,k=8192}", "C of 8192 x 8192 too large"},
      {"gemm@1{m=64,n=64,k=4096,batch=2}", "A batch of 2"},
      {"gemm@1{m=64,n=64,k=4096,type=i8,ctype=i32}", "integers"},
      {"gemm@1{m=64,n=64,k=4096,type=f32,ctype=f64}", "products of f32 are not rounded to f64"},
      {"gemm@1{m=64,n=64,k=4096,type=f64,ctype=f32}", "products of f64 are not rounded to f32"},
      {"gemm@1{m=64,n=64,k=4096,type=f16,ctype=f8e4m3}", "f8e4m3"},
  };
  for (const Refusal& refusal : refusals) {
    const Status status = PartCounts(GemmOf(refusal.text)).status();

    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << refusal.text;
    EXPECT_THAT(status.message(), HasSubstr(refusal.reason)) << refusal.text;
  }
}

}  // namespace
}  // namespace attune::cuda
