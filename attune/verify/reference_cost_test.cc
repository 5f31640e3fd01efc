#include "attune/verify/reference_cost.h"

#include <string>

#include <gtest/gtest.h>

namespace attune {
namespace {

Problem Of(const std::string& text) { return *ParseProblem(text); }

TEST(ReferenceCostTest, LargeProductsPayOnADeviceAndSmallOnesDoNot) {
  EXPECT_FALSE(PaysOnDevice(Of("gemm@1{m=512,n=512,k=512}"), 2));
  EXPECT_TRUE(PaysOnDevice(Of("gemm@1{m=2048,n=2048,k=2048}"), 2));
  EXPECT_TRUE(PaysOnDevice(Of("gemm@1{m=8192,n=8192,k=8192}"), 16));
  EXPECT_FALSE(PaysOnDevice(Of("gemm@1{m=1024,n=1024,k=1024}"), 16));
}

TEST(ReferenceCostTest, WhatMovesMoreThanItComputesStaysOnTheProcessor) {
  EXPECT_FALSE(PaysOnDevice(Of("gemm@1{m=30000,n=30000,k=4}"), 16));
  EXPECT_FALSE(PaysOnDevice(Of("gemm@1{m=40000,n=1,k=40000}"), 2));
}

TEST(ReferenceCostTest, DoubleDoubleCostsTenTimesAsMuchAndCoresShareIt) {
  const double plain = ProcessorReferenceNs(Of("gemm@1{m=100,n=100,k=100}"), 2);

  EXPECT_DOUBLE_EQ(plain, 1e5);
  EXPECT_DOUBLE_EQ(ProcessorReferenceNs(Of("gemm@1{m=100,n=100,k=100}"), 8), plain / 4);
  EXPECT_DOUBLE_EQ(ProcessorReferenceNs(Of("gemm@1{m=100,n=100,k=100,type=f64}"), 2), 10 * plain);
}

}  // namespace
}  // namespace attune
