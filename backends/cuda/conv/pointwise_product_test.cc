#include "backends/cuda/conv/pointwise_product.h"

#include <gmock/gmock.h>

#include "attune/ops/conv/conv_operands.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;

const char* const kProducts[] = {
    "conv@1{dir=fwd,n=1,c=1,h=1,w=1,k=1,fh=1,fw=1}",
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1}",
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,dh=2,dw=3}",
    "conv@1{dir=bwd_data,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1}",
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc}",
    "conv@1{dir=bwd_data,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc}",
    "conv@1{dir=bwd_weights,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc}",
    "conv@1{dir=bwd_weights,n=1,c=5,h=7,w=3,k=4,fh=1,fw=1}",
    // One pixel, one channel: channels-first is channels-last.
    "conv@1{dir=bwd_weights,n=3,c=5,h=1,w=1,k=4,fh=1,fw=1}",
    "conv@1{dir=bwd_weights,n=3,c=1,h=7,w=3,k=1,fh=1,fw=1}",
    "conv@1{dir=fwd,n=3,c=1,h=7,w=3,k=4,fh=1,fw=1}",
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=1,fh=1,fw=1}",
    // Layouts that differ.
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc,ylayout=nchw}",
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nchw,ylayout=nhwc}",
    "conv@1{dir=bwd_data,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc,ylayout=nchw}",
    "conv@1{dir=bwd_data,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nchw,ylayout=nhwc}",
    "conv@1{dir=bwd_weights,n=1,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nchw,ylayout=nhwc}",
    // Groups: one sequence, a batch of groups, a batch of images for each group and the reverse.
    "conv@1{dir=fwd,n=1,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=fwd,n=2,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=fwd,n=5,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=bwd_data,n=2,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=bwd_data,n=5,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=fwd,n=5,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3,layout=nhwc}",
    "conv@1{dir=bwd_data,n=5,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3,layout=nhwc}",
    "conv@1{dir=bwd_weights,n=5,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3,layout=nhwc}",
    "conv@1{dir=bwd_weights,n=1,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=fwd,n=5,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3,layout=nhwc,ylayout=nchw}",
    "conv@1{dir=fwd,n=2,c=6,h=7,w=3,k=6,fh=1,fw=1,g=6}",
    // A bias for each row.
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc,bias=1}",
    "conv@1{dir=fwd,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,ylayout=nhwc,bias=1}",
    "conv@1{dir=fwd,n=3,c=5,h=1,w=1,k=4,fh=1,fw=1,bias=1}",
    // Transposed and 3-D.
    "conv@1{dir=fwd,mode=trans,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1}",
    "conv@1{dir=fwd,mode=trans,n=3,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc,bias=1}",
    "conv@1{dir=bwd_data,mode=trans,n=3,c=6,h=7,w=3,k=4,fh=1,fw=1,g=2}",
    "conv@1{dir=bwd_weights,mode=trans,n=3,c=6,h=7,w=3,k=4,fh=1,fw=1,g=2,layout=nhwc}",
    "conv@1{dir=fwd,n=3,c=5,d=2,h=7,w=3,k=4,fd=1,fh=1,fw=1}",
    "conv@1{dir=bwd_data,n=3,c=5,d=2,h=7,w=3,k=4,fd=1,fh=1,fw=1,layout=ndhwc}",
};

const char* const kSums[] = {
    "conv@1{dir=bwd_weights,n=4,c=5,h=7,w=3,k=4,fh=1,fw=1}",
    "conv@1{dir=bwd_weights,n=4,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nchw,ylayout=nhwc}",
    "conv@1{dir=bwd_weights,n=4,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc,ylayout=nchw}",
    "conv@1{dir=bwd_weights,n=4,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=bwd_weights,n=4,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3,layout=nhwc,ylayout=nchw}",
    "conv@1{dir=bwd_weights,mode=trans,n=4,c=6,h=7,w=3,k=9,fh=1,fw=1,g=3}",
    "conv@1{dir=bwd_weights,n=4,c=6,d=2,h=7,w=3,k=4,fd=1,fh=1,fw=1}",
};

TEST(PointwiseProductTest, ProductsOfTheOperandsAreTheConvolution) {
  for (const char* text : kProducts) {
    const Conv conv = ConvOf(text);
    std::vector<OperandValues> operands = OperandsOnHost(conv);
    const auto repeated = PointwiseProduct(conv);
    ASSERT_TRUE(repeated.ok()) << text << ": " << repeated.status().message();
    std::array<double*, 3> places = {};
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = operands[OperandOf(ImagesOf(conv), repeated->tensors[i])].data();
    }

    for (int64_t time = 0; time < repeated->count; ++time) {
      const double* const bias = conv.bias ? operands[RolesOf(conv).bias].data() : nullptr;
      MultiplyOnHost(repeated->gemm, {places[0], places[1], bias, places[2]});
      for (size_t i = 0; i < places.size(); ++i) places[i] += repeated->steps[i];
    }

    EXPECT_EQ(operands.back(), ExpectedOf(conv, operands)) << text;
  }
}

// The solver's result, computed on the host.
OperandValues SummedGradient(const Conv& conv, const PartialProducts& partial,
                             const std::vector<OperandValues>& operands) {
  const ConvImages images = ImagesOf(conv);
  const RepeatedProduct& repeated = partial.product;
  std::vector<double> sums(static_cast<size_t>(partial.images * partial.elements), 9999);
  for (int64_t round = 0; round < partial.rounds; ++round) {
    const double* large = operands[images.large.operand].data() + round * partial.large_step;
    const double* small = operands[images.small.operand].data() + round * partial.small_step;
    for (int64_t time = 0; time < repeated.count; ++time) {
      MultiplyOnHost(repeated.gemm,
                     {large + time * repeated.steps[0], small + time * repeated.steps[1], nullptr,
                      sums.data() + time * repeated.steps[2], round == 0 ? 0.0 : 1.0});
    }
  }
  OperandValues gradient(static_cast<size_t>(partial.elements), 0);
  for (size_t i = 0; i < sums.size(); ++i) gradient[i % gradient.size()] += sums[i];
  return gradient;
}

TEST(PointwiseProductTest, PartialSumsOfTheImagesAreTheGradient) {
  for (const char* text : kSums) {
    const Conv conv = ConvOf(text);
    const std::vector<OperandValues> operands = OperandsOnHost(conv);
    // All images at once, and two sums for four images.
    for (const int64_t limit_bytes :
         {kMostScratchBytes, 8 * SpanElements(Operands(conv).back().tensor)}) {
      const auto partial = PointwisePartialProducts(conv, limit_bytes);
      ASSERT_TRUE(partial.ok()) << text << ": " << partial.status().message();
      EXPECT_EQ(partial->rounds, limit_bytes == kMostScratchBytes ? 1 : 2) << text;

      EXPECT_EQ(SummedGradient(conv, *partial, operands), ExpectedOf(conv, operands)) << text;
    }
  }
}

TEST(PointwiseProductTest, WhatIsNoProductIsRefusedWithTheReason) {
  const auto reason = [](const char* text) {
    const Status status = PointwiseProduct(ConvOf(text)).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << text;
    return status.message();
  };
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=5,h=7,w=3,k=4,fh=3,fw=1}"), HasSubstr("1 x 1"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=5,h=7,w=3,k=4,fh=1,fw=1,sh=2}"), HasSubstr("stride"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=5,h=7,w=3,k=4,fh=1,fw=1,ph=1}"), HasSubstr("padding"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=2,c=5,h=7,w=3,k=4,fh=1,fw=1,bias=1}"),
              HasSubstr("channels-first"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=2,c=4,h=7,w=3,k=4,fh=1,fw=1,bias=1,g=2,layout=nhwc}"),
              HasSubstr("group"));
  EXPECT_THAT(reason("conv@1{dir=bwd_weights,n=2,c=5,h=7,w=3,k=4,fh=1,fw=1}"),
              HasSubstr("sum over 2 images"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=100,c=100,h=7,w=3,k=100,fh=1,fw=1,g=100}"),
              HasSubstr("100 products"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=5,h=7,w=3,k=4,fh=1,fw=1,type=i8}"), HasSubstr("i8"));
}

TEST(PointwiseProductTest, WhatIsOneProductIsNotSummed) {
  const auto reason = [](const char* text) {
    const Status status = PointwisePartialProducts(ConvOf(text)).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << text;
    return status.message();
  };
  EXPECT_THAT(reason("conv@1{dir=bwd_weights,n=2,c=5,h=7,w=3,k=4,fh=1,fw=1,layout=nhwc}"),
              HasSubstr("one product"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=2,c=5,h=7,w=3,k=4,fh=1,fw=1}"), HasSubstr("gradients"));
}

TEST(PointwiseProductTest, PartialSumsAreOfF32AndKeepToTheirLimit) {
  const auto partial = PointwisePartialProducts(
      ConvOf("conv@1{dir=bwd_weights,n=96,c=1024,h=7,w=7,k=2048,fh=1,fw=1,type=bf16}"));
  ASSERT_TRUE(partial.ok()) << partial.status().message();

  // 8 MiB for each image.
  EXPECT_EQ(partial->images, 32);
  EXPECT_EQ(partial->rounds, 3);
  EXPECT_EQ(partial->PartialBytes(), size_t{256} << 20);
  EXPECT_EQ(partial->product.gemm.c_type, DataType::kF32);
  EXPECT_EQ(partial->product.gemm.batch_count, 32);
  EXPECT_EQ(partial->large_step, 32 * 1024 * 49);
}

TEST(PointwiseProductTest, APartialSumThatExceedsTheLimitIsRefusedWithItsBytes) {
  const Status refused =
      PointwisePartialProducts(
          ConvOf("conv@1{dir=bwd_weights,n=96,c=1024,h=7,w=7,k=2048,fh=1,fw=1,type=bf16}"),
          (int64_t{8} << 20) - 1)
          .status();

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("8388608 bytes, and 8388607 is the most"));
}

TEST(PointwiseProductTest, OffsetsBetweenProductsLowerWhatIsPromised) {
  // Groups of 3 x 49 elements of two bytes.
  const auto product =
      PointwiseProduct(ConvOf("conv@1{dir=fwd,n=5,c=6,h=7,w=7,k=8,fh=1,fw=1,g=2,type=f16}"));
  ASSERT_TRUE(product.ok()) << product.status().message();

  EXPECT_EQ(product->count, 2);
  EXPECT_EQ(product->gemm.alignment_bytes, 2);
}

TEST(PointwiseProductTest, RoundsHaveAsManyImagesAsFitAndDivide) {
  EXPECT_EQ(ImagesAtOnce(32, 10, 1000), 32);
  EXPECT_EQ(ImagesAtOnce(32, 10, 319), 16);
  EXPECT_EQ(ImagesAtOnce(30, 10, 70), 6);
  EXPECT_EQ(ImagesAtOnce(7, 10, 60), 1);
  EXPECT_EQ(ImagesAtOnce(4, 10, 1), 1);
  EXPECT_EQ(ImagesAtOnce(36, 10, 180), 18);
  EXPECT_EQ(ImagesAtOnce(49, 10, 80), 7);
}

TEST(PointwiseProductTest, HowManyImagesFitIsFoundAtOnceForAnyCount) {
  // A prime, which counting down would take minutes for.
  constexpr int64_t kPrime = 1'000'000'000'039;
  EXPECT_EQ(ImagesAtOnce(kPrime, 1, kPrime - 1), 1);
  EXPECT_EQ(ImagesAtOnce(2 * kPrime, 1, 2 * kPrime - 1), kPrime);
}

}  // namespace
}  // namespace attune::cuda
