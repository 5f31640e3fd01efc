#include "backends/cuda/conv/cudnn_words.h"

#include <gmock/gmock.h>

#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;

TEST(CudnnWordsTest, WhatCudnnDoesNotConvolveSaysWhatElseComputesIt) {
  const auto reason = [](const char* text) {
    const Status status = CheckCudnnConvolves(ConvOf(text));
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << text;
    return status.message();
  };
  EXPECT_THAT(reason("conv@1{dir=fwd,mode=trans,n=1,c=4,h=7,w=3,k=4,fh=3,fw=1}"),
              HasSubstr("Ask for the gradient by the input"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=4,h=7,w=3,k=4,fh=3,fw=1,bias=1}"),
              HasSubstr("Add it behind the convolution"));
  EXPECT_THAT(reason("conv@1{dir=fwd,n=1,c=4,h=7,w=3,k=4,fh=3,fw=1,type=i8}"),
              HasSubstr("Solvers that are not cuDNN's may compute it"));
}

}  // namespace
}  // namespace attune::cuda
