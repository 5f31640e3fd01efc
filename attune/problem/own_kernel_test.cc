#include "attune/problem/own_kernel.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

OwnKernelProblem Matmul() {
  OwnKernelProblem own;
  own.name = "matmul";
  own.content = FingerprintOf("content");
  own.sizes = {{"m", 4}, {"n", 6}};
  own.buffers = {
      {"a", OperandRole::kIn, DataType::kF32, {4, 8}, {}},
      {"seed", OperandRole::kIn, DataType::kI32, {1}, {BufferFill::Kind::kConstant, 7, 0}},
      {"c", OperandRole::kOut, DataType::kF16, {4, 6}, {}},
      {"sum", OperandRole::kInOut, DataType::kF64, {6}, {BufferFill::Kind::kIota, 0, .5}}};
  own.absolute_tolerance = 1e-3;
  return own;
}

std::string Changed(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

TEST(OwnKernelTest, TextSaysAllAndIsReadBack) {
  const std::string text = Text(ToProblem(Matmul()));

  EXPECT_EQ(text, "kernel@1{content=" + Matmul().content.ToHex() +
                      ",name=matmul,operands=a in f32 4x8 uniform -1 1 seed in i32 1 constant 7 0 "
                      "c out f16 4x6 sum inout f64 6 iota 0 0.5,sizes=m 4 n 6,tolerance=0.001 0}");
  const auto read = ParseProblem(text);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(*OwnKernelOf(*read), Matmul());
}

TEST(OwnKernelTest, OperandsArePackedRowsInputsFirst) {
  const std::vector<Operand> operands = Operands(ToProblem(Matmul()));

  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(operands[0].tensor.strides, (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(operands[2].role, OperandRole::kOut);
  EXPECT_EQ(SpanBytes(operands[3].tensor), 48u);
  EXPECT_EQ(OutputType(ToProblem(Matmul())), DataType::kF64);
  EXPECT_EQ(CompulsoryBytes(ToProblem(Matmul())), 4 * 8 * 4 + 4 + 4 * 6 * 2 + 2 * 48);
}

TEST(OwnKernelTest, WhatIsNoProblemIsRefusedWithTheReason) {
  const std::string text = Text(ToProblem(Matmul()));
  const std::pair<std::string, const char*> wrong[] = {
      {Changed(text, "name=matmul", "name=Mat mul"), "cannot be the name of a kernel"},
      {Changed(text, "4x8", "4x0"), "extents are from 1"},
      {Changed(text, "4x8", "1099511627776x2"), "all elements together"},
      {Changed(text, "4x8", "4x8x"), "Operand 1"},
      {Changed(text, "f16", "f15"), "Operand 3"},
      {Changed(text, "a in f32", "c in f32"), "two operands c"},
      {Changed(text, "iota 0 0.5", "iota 0 nan"), "not finite"},
      {Changed(text, "c out f16 4x6 sum inout f64 6 iota 0 0.5", "c in f16 4x6 iota 0 1"),
       "No operand is written"},
      {Changed(text, "sizes=m 4 n 6", "sizes=m 4 n"), "no sizes"},
      {Changed(text, "sizes=m 4 n 6", "sizes=n 6 m 4"), "sizes sorted"},
      {Changed(text, "sizes=m 4", "sizes=m -4"), "sizes have names"},
      {Changed(text, "0.001 0", "0.001"), "two numbers"},
      {Changed(text, "0.001 0", "-1 0"), "negative"},
      {Changed(text, "tolerance=0.001 0", "zeal=1,tolerance=0.001 0"), "alone"},
      {Changed(text, ",name=matmul", ""), "needs the key 'name'"}};

  for (const auto& [problem, reason] : wrong) {
    const auto read = ParseProblem(problem);
    ASSERT_FALSE(read.ok()) << problem;
    EXPECT_NE(read.error().message().find(reason), std::string::npos) << read.error().message();
  }
}

TEST(OwnKernelTest, AnInputBehindAnOutputIsRefused) {
  OwnKernelProblem own = Matmul();
  std::swap(own.buffers[1], own.buffers[2]);

  EXPECT_NE(Validate(own).message().find("comes after one that is written"), std::string::npos);
}

}  // namespace
}  // namespace attune
