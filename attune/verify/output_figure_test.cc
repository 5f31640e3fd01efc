#include "attune/verify/output_figure.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/verify/heap_device.h"

namespace attune {
namespace {

using Reduction = FigureSource::Reduction;

// C of a GEMM with 2 rows and 2 columns, and a workspace of four integers.
class FigureReaderTest : public ::testing::Test {
 protected:
  FigureReaderTest()
      : problem_(*ParseProblem("gemm@1{m=2,n=2,k=1}")),
        c_({5, -7, 2, 1}),
        numbers_({10, 20, 30, 40}),
        views_({{nullptr, 0}, {nullptr, 0}, {c_.data(), 0}}) {}

  Result<double> Read(const FigureSource& source) {
    Arguments arguments;
    arguments.operands = views_;
    arguments.workspace = {numbers_.data(), 0};
    return FigureReader(device_, Operands(problem_), arguments, sizeof numbers_).Read(source);
  }

  HeapDevice device_;
  const Problem problem_;
  std::array<float, 4> c_;
  std::array<int32_t, 4> numbers_;
  const std::vector<BufferView> views_;
};

TEST_F(FigureReaderTest, ReducesElementsOfAnOperand) {
  EXPECT_EQ(Read({"c", DataType::kF32, 0, 4, Reduction::kMax}).value(), 5);
  EXPECT_EQ(Read({"c", DataType::kF32, 0, 4, Reduction::kMin}).value(), -7);
  EXPECT_EQ(Read({"c", DataType::kF32, 0, 4, Reduction::kSum}).value(), 1);
  EXPECT_EQ(Read({"c", DataType::kF32, 2, 1, Reduction::kFirst}).value(), 2);
}

TEST_F(FigureReaderTest, ReadsTheWorkspace) {
  EXPECT_EQ(Read({"", DataType::kI32, 1, 2, Reduction::kSum}).value(), 50);
}

TEST_F(FigureReaderTest, RefusesWhatLiesOutside) {
  const auto figure = Read({"", DataType::kI32, 3, 2, Reduction::kSum});
  const auto one = Read({"", DataType::kI32, 4, 1, Reduction::kFirst});

  ASSERT_FALSE(figure.ok());
  EXPECT_EQ(figure.error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(figure.error().message(),
            "The figure 'workspace i32 3 2 sum' reads elements 3 to 4, and there are 4.");
  EXPECT_THAT(one.status().message(), testing::HasSubstr("' reads element 4, and there are 4."));
}

TEST_F(FigureReaderTest, RefusesAnOperandThatIsNotThere) {
  EXPECT_EQ(Read({"d", DataType::kF32}).error().code(), StatusCode::kInvalidArgument);
}

TEST_F(FigureReaderTest, WhatTheKernelDidNotWriteIsNoFigure) {
  c_[1] = std::nanf("");

  const auto figure = Read({"c", DataType::kF32, 0, 4, Reduction::kMax});

  ASSERT_FALSE(figure.ok());
  EXPECT_EQ(figure.error().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace attune
