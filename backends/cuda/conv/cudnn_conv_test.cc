// Properties of cuDNN's convolutions that need neither the library nor a device.
#include "backends/cuda/conv/cudnn_conv.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/status.h"
#include "attune/ops/conv/conv.h"
#include "attune/problem/problem.h"
#include "backends/cuda/conv/cudnn_product.h"
#include "backends/cuda/cudnn/cudnn.h"
#include "backends/cuda/driver/lazy.h"

namespace attune::cuda {
namespace {

using ::testing::HasSubstr;

constexpr const char* kDepthwiseGradient =
    "conv@1{dir=bwd_weights,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=f16,g=512}";

Conv ConvOf(const std::string& text) { return ParseProblem(text)->Get<Conv>(); }

std::string FirstAlgorithm(const std::string& problem) {
  const Lazy<Cudnn> cudnn;
  const auto space = MakeCudnnConv(cudnn)->Space(*ParseProblem(problem), Target{});
  return std::get<std::string>(space->At(0).at("algorithm"));
}

TEST(CudnnTest, AStreamThatWasRefusedIsSetAgainBeforeAnythingIsEnqueued) {
  static int asked = 0;
  Cudnn cudnn{LibraryReport()};
  cudnn.cudnnGetErrorString = [](cudnnStatus_t) { return "refused"; };
  cudnn.cudnnSetStream = [](cudnnHandle_t, cudaStream_t) {
    return ++asked == 2 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
  };
  int first = 0, second = 0, enqueued = 0;
  const auto enqueue_on = [&](int& stream) {
    return cudnn.EnqueueOn(reinterpret_cast<CUstream>(&stream), nullptr, [&] {
      ++enqueued;
      return Status::Ok();
    });
  };

  EXPECT_TRUE(enqueue_on(first).ok());
  EXPECT_FALSE(enqueue_on(second).ok());
  EXPECT_EQ(enqueued, 1);
  EXPECT_TRUE(enqueue_on(second).ok());
  EXPECT_TRUE(enqueue_on(second).ok());

  EXPECT_EQ(enqueued, 3);
  EXPECT_EQ(asked, 3);
}

TEST(CudnnConvTest, GradientsOfDepthwiseFiltersInHalfPrecisionLoseSums) {
  EXPECT_TRUE(LosesSums(ConvOf(kDepthwiseGradient)));

  for (const char* other :
       {"conv@1{dir=fwd,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=f16,g=512}",
        "conv@1{dir=bwd_data,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=f16,g=512}",
        "conv@1{dir=bwd_weights,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=bf16,g=512}",
        "conv@1{dir=bwd_weights,n=8,c=512,h=14,w=14,k=512,fh=3,fw=3,type=f16,g=128}",
        "conv@1{dir=bwd_weights,n=8,c=1,h=14,w=14,k=512,fh=3,fw=3,type=f16}"}) {
    EXPECT_FALSE(LosesSums(ConvOf(other))) << other;
  }
}

TEST(CudnnConvTest, WhatIsWrongIsNoDefault) {
  EXPECT_EQ(FirstAlgorithm(kDepthwiseGradient), "algo_0");
  EXPECT_EQ(FirstAlgorithm("conv@1{dir=bwd_weights,n=8,c=64,h=14,w=14,k=64,fh=3,fw=3,type=f16}"),
            "first");
}

TEST(CudnnConvTest, WhereOnlyTheWrongAlgorithmIsLeftNothingIs) {
  const Status status = CheckKeepsSums(ConvOf(kDepthwiseGradient));

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("rounds parts of their sums to 16 bits"));
  EXPECT_TRUE(
      CheckKeepsSums(ConvOf("conv@1{dir=bwd_weights,n=8,c=64,h=14,w=14,k=64,fh=3,fw=3,type=f16}"))
          .ok());
}

}  // namespace
}  // namespace attune::cuda
