// Pooling and changes of layout without a GPU, over a library that records its arguments.
#include "backends/cuda/cudnn/cudnn_layer.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace attune::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Tensor {
  std::vector<int> extents;
  std::vector<int> strides;
};
struct Pooling {
  std::vector<int> numbers;  // Window, pads and strides as the call has them.
};
struct Given {
  std::string call;
  std::vector<Tensor> tensors;
  std::vector<const void*> addresses;
  std::vector<int> pooling;
  int alive = 0;  // Descriptors.
  bool refuses_pooling = false;
};
Given* given = nullptr;

const Tensor& At(cudnnTensorDescriptor_t x) { return *reinterpret_cast<const Tensor*>(x); }
const Pooling& At(cudnnPoolingDescriptor_t x) { return *reinterpret_cast<const Pooling*>(x); }

Cudnn StandIn() {
  LibraryReport report;
  report.available = true;
  report.version = "9.19.0";
  return Cudnn(report);
}

void PutTensors(Cudnn& cudnn) {
  cudnn.cudnnCreateTensorDescriptor = [](cudnnTensorDescriptor_t* made) {
    ++given->alive;
    *made = reinterpret_cast<cudnnTensorDescriptor_t>(new Tensor);
    return CUDNN_STATUS_SUCCESS;
  };
  cudnn.cudnnDestroyTensorDescriptor = [](cudnnTensorDescriptor_t gone) {
    --given->alive;
    delete reinterpret_cast<Tensor*>(gone);
    return CUDNN_STATUS_SUCCESS;
  };
  cudnn.cudnnSetTensorNdDescriptor = [](cudnnTensorDescriptor_t to, cudnnDataType_t, int count,
                                        const int* extents, const int* strides) {
    *reinterpret_cast<Tensor*>(to) = {{extents, extents + count}, {strides, strides + count}};
    return CUDNN_STATUS_SUCCESS;
  };
  cudnn.cudnnSetStream = [](cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; };
  cudnn.cudnnGetErrorString = [](cudnnStatus_t) { return "refused"; };
}

void PutPooling(Cudnn& cudnn) {
  cudnn.cudnnCreatePoolingDescriptor = [](cudnnPoolingDescriptor_t* made) {
    ++given->alive;
    *made = reinterpret_cast<cudnnPoolingDescriptor_t>(new Pooling);
    return CUDNN_STATUS_SUCCESS;
  };
  cudnn.cudnnDestroyPoolingDescriptor = [](cudnnPoolingDescriptor_t gone) {
    --given->alive;
    delete reinterpret_cast<Pooling*>(gone);
    return CUDNN_STATUS_SUCCESS;
  };
  cudnn.cudnnSetPooling2dDescriptor = [](cudnnPoolingDescriptor_t to, cudnnPoolingMode_t mode,
                                         cudnnNanPropagation_t, int h, int w, int pad_h, int pad_w,
                                         int stride_h, int stride_w) {
    EXPECT_EQ(mode, CUDNN_POOLING_MAX);
    reinterpret_cast<Pooling*>(to)->numbers = {h, w, pad_h, pad_w, stride_h, stride_w};
    return given->refuses_pooling ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
  };
}

void PutCalls(Cudnn& cudnn) {
  cudnn.cudnnPoolingForward = [](cudnnHandle_t, cudnnPoolingDescriptor_t pooling, const void*,
                                 cudnnTensorDescriptor_t in, const void* x, const void*,
                                 cudnnTensorDescriptor_t out, void* y) {
    given->call = "forward";
    given->tensors = {At(in), At(out)};
    given->addresses = {x, y};
    given->pooling = At(pooling).numbers;
    return CUDNN_STATUS_SUCCESS;
  };
  cudnn.cudnnPoolingBackward =
      [](cudnnHandle_t, cudnnPoolingDescriptor_t pooling, const void*, cudnnTensorDescriptor_t,
         const void* y, cudnnTensorDescriptor_t of_dy, const void* dy, cudnnTensorDescriptor_t in,
         const void* x, const void*, cudnnTensorDescriptor_t, void* dx) {
        given->call = "backward";
        given->tensors = {At(of_dy), At(in)};
        given->addresses = {y, dy, x, dx};
        given->pooling = At(pooling).numbers;
        return CUDNN_STATUS_SUCCESS;
      };
  cudnn.cudnnTransformTensor = [](cudnnHandle_t, const void*, cudnnTensorDescriptor_t in,
                                  const void* x, const void*, cudnnTensorDescriptor_t out,
                                  void* y) {
    given->call = "transform";
    given->tensors = {At(in), At(out)};
    given->addresses = {x, y};
    return CUDNN_STATUS_SUCCESS;
  };
}

class CudnnLayerTest : public testing::Test {
 protected:
  CudnnLayerTest() {
    given = &given_;
    PutTensors(cudnn_);
    PutPooling(cudnn_);
    PutCalls(cudnn_);
  }
  ~CudnnLayerTest() override { given = nullptr; }

  void Run(const NetworkLayer& layer, std::vector<void*> operands) {
    const auto made = CudnnLayer::Create(cudnn_, nullptr, layer);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    ASSERT_TRUE(made->Run(operands, nullptr).ok());
  }

  Given given_;
  Cudnn cudnn_ = StandIn();
  char x_ = 0, dy_ = 0, y_ = 0, dx_ = 0;
};

TEST_F(CudnnLayerTest, PoolingHasItsWindowAndDenseImages) {
  Run({LayerKind::kMaxPool, 2, 3, 8, 4, 3, 2, 1}, {&x_, &y_});

  EXPECT_EQ(given_.call, "forward");
  EXPECT_THAT(given_.pooling, ElementsAre(3, 3, 1, 1, 2, 2));
  EXPECT_THAT(given_.tensors[0].extents, ElementsAre(2, 3, 8, 8));
  EXPECT_THAT(given_.tensors[0].strides, ElementsAre(192, 64, 8, 1));
  EXPECT_THAT(given_.tensors[1].extents, ElementsAre(2, 3, 4, 4));
  EXPECT_THAT(given_.addresses, ElementsAre(&x_, &y_));
  EXPECT_EQ(given_.alive, 0);
}

TEST_F(CudnnLayerTest, ThePoolingGradientReadsWhatTheForwardOneWrote) {
  Run({LayerKind::kMaxPoolGradient, 2, 3, 8, 4, 2, 2, 0}, {&x_, &dy_, &y_, &dx_});

  EXPECT_EQ(given_.call, "backward");
  EXPECT_THAT(given_.tensors[0].extents, ElementsAre(2, 3, 4, 4));
  EXPECT_THAT(given_.tensors[1].extents, ElementsAre(2, 3, 8, 8));
  EXPECT_THAT(given_.addresses, ElementsAre(&y_, &dy_, &x_, &dx_));
}

TEST_F(CudnnLayerTest, ALayoutMovesTheChannelsInside) {
  Run({LayerKind::kToChannelsLast, 2, 3, 8, 8}, {&x_, &y_});

  EXPECT_EQ(given_.call, "transform");
  EXPECT_THAT(given_.tensors[0].strides, ElementsAre(192, 64, 8, 1));
  EXPECT_THAT(given_.tensors[1].strides, ElementsAre(192, 1, 24, 3));
  EXPECT_EQ(given_.alive, 0);
}

TEST_F(CudnnLayerTest, WhatCudnnRefusesAndWhatItCannotCountIsUnsupported) {
  given_.refuses_pooling = true;
  const auto refused =
      CudnnLayer::Create(cudnn_, nullptr, {LayerKind::kMaxPool, 2, 3, 8, 4, 3, 2, 3});
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.status().message(), HasSubstr("pooling of 3 by 3 with stride 2 and pad 3"));
  EXPECT_EQ(given_.alive, 0);

  const auto large =
      CudnnLayer::Create(cudnn_, nullptr, {LayerKind::kToChannelsLast, 128, 1024, 160, 160});
  EXPECT_EQ(large.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(large.status().message(), HasSubstr("3355443200 elements"));
}

}  // namespace
}  // namespace attune::cuda
