#include "attune/problem/problem.h"

#include <gtest/gtest.h>

#include "attune/problem/other_op.h"

namespace attune {
namespace {

Problem Parse(std::string_view text) {
  auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return problem.ok() ? *problem : Problem();
}

const TensorDesc& TensorOf(const std::vector<Operand>& operands, std::string_view name) {
  for (const Operand& operand : operands) {
    if (operand.name == name) return operand.tensor;
  }
  ADD_FAILURE() << "No operand " << name;
  return operands.front().tensor;
}

TEST(DataTypeTest, EveryTypeHasANameThatReadsBackAndARoundoff) {
  for (const DataType type :
       {DataType::kF64, DataType::kF32, DataType::kF16, DataType::kBf16, DataType::kI32,
        DataType::kI8, DataType::kF8E4M3, DataType::kF8E5M2}) {
    EXPECT_EQ(ParseDataType(Name(type)), type);
  }
  EXPECT_EQ(UnitRoundoff(DataType::kF32), 0x1p-24);
  EXPECT_EQ(UnitRoundoff(DataType::kI8), 0);
  EXPECT_EQ(SizeBytes(DataType::kBf16), 2u);
  EXPECT_FALSE(ParseDataType("float").has_value());
}

TEST(OperandsTest, GemmOperandsAreColumnMajorAsStored) {
  const auto operands = Operands(Parse("gemm@1{m=3,n=5,k=7,ta=t,lda=9,batch=2,sb=0,bias=row}"));

  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(TensorOf(operands, "a").extents, (std::vector<int64_t>{2, 7, 3}));
  EXPECT_EQ(TensorOf(operands, "a").strides, (std::vector<int64_t>{27, 1, 9}));
  EXPECT_EQ(TensorOf(operands, "b").extents, (std::vector<int64_t>{1, 7, 5}));
  EXPECT_EQ(TensorOf(operands, "bias").extents, (std::vector<int64_t>{3}));
  EXPECT_EQ(operands.back().name, "c");
  EXPECT_EQ(operands.back().role, OperandRole::kOut);
  EXPECT_EQ(SpanElements(TensorOf(operands, "a")), 27 + 2 * 9 + 7);
  EXPECT_EQ(ElementCount(TensorOf(operands, "a")), 42);
}

TEST(OperandsTest, OutputIsReadWhenBetaIsNotZero) {
  EXPECT_EQ(Operands(Parse("gemm@1{m=3,n=5,k=7,beta=one}")).back().role, OperandRole::kInOut);
}

TEST(OperandsTest, ConvStridesFollowEachLayout) {
  const auto operands = Operands(Parse(
      "conv@1{dir=fwd,n=2,c=4,h=5,w=6,k=8,fh=3,fw=2,g=2,layout=nhwc,wlayout=nchw,ylayout=nhwc}"));

  EXPECT_EQ(TensorOf(operands, "x").extents, (std::vector<int64_t>{2, 4, 5, 6}));
  EXPECT_EQ(TensorOf(operands, "x").strides, (std::vector<int64_t>{120, 1, 24, 4}));
  EXPECT_EQ(TensorOf(operands, "w").extents, (std::vector<int64_t>{8, 2, 3, 2}));
  EXPECT_EQ(TensorOf(operands, "w").strides, (std::vector<int64_t>{12, 6, 2, 1}));
  EXPECT_EQ(TensorOf(operands, "y").extents, (std::vector<int64_t>{2, 8, 3, 5}));
  EXPECT_EQ(TensorOf(operands, "y").strides, (std::vector<int64_t>{120, 1, 40, 8}));
}

TEST(OperandsTest, ThreeDimensionalTensorsHaveADepth) {
  const auto operands = Operands(
      Parse("conv@1{dir=fwd,n=2,c=3,d=4,h=5,w=6,k=7,fd=1,fh=1,fw=1,layout=ndhwc,wlayout=ncdhw}"));

  EXPECT_EQ(TensorOf(operands, "x").extents, (std::vector<int64_t>{2, 3, 4, 5, 6}));
  EXPECT_EQ(TensorOf(operands, "x").strides, (std::vector<int64_t>{360, 1, 90, 18, 3}));
  EXPECT_EQ(TensorOf(operands, "w").strides, (std::vector<int64_t>{3, 1, 1, 1, 1}));
}

TEST(OperandsTest, BackwardDirectionsProduceTheGradient) {
  const auto names = [](std::string_view text) {
    std::vector<std::string> all;
    for (const Operand& operand : Operands(Parse(text))) all.push_back(operand.name);
    return all;
  };

  EXPECT_EQ(names("conv@1{dir=bwd_data,n=1,c=1,h=4,w=4,k=1,fh=3,fw=3}"),
            (std::vector<std::string>{"dy", "w", "dx"}));
  EXPECT_EQ(names("conv@1{dir=bwd_weights,n=1,c=1,h=4,w=4,k=1,fh=3,fw=3}"),
            (std::vector<std::string>{"x", "dy", "dw"}));
}

TEST(OperandsTest, TransposedWeightsAreInChannelsByOutChannels) {
  const auto operands =
      Operands(Parse("conv@1{dir=fwd,mode=trans,n=1,c=6,h=4,w=4,k=4,fh=3,fw=3,g=2,sh=2,sw=2}"));

  EXPECT_EQ(TensorOf(operands, "w").extents, (std::vector<int64_t>{6, 2, 3, 3}));
  EXPECT_EQ(TensorOf(operands, "y").extents, (std::vector<int64_t>{1, 4, 9, 9}));
}

TEST(CostTest, GemmAndConvolutionCountTheDirectAlgorithm) {
  EXPECT_EQ(Flops(Parse("gemm@1{m=2,n=3,k=4,batch=5}")), 240.0);
  EXPECT_EQ(Flops(Parse("gemm@1{m=2,n=3,k=4,alpha=zero,beta=one}")), 0.0);
  EXPECT_EQ(CompulsoryBytes(Parse("gemm@1{m=2,n=3,k=4,alpha=zero,beta=one}")), 2.0 * 6 * 4);
  const Problem forward = Parse("conv@1{dir=fwd,n=2,c=4,h=8,w=8,k=6,fh=3,fw=3,g=2,ph=1,pw=1}");
  const Problem weights =
      Parse("conv@1{dir=bwd_weights,n=2,c=4,h=8,w=8,k=6,fh=3,fw=3,g=2,ph=1,pw=1}");

  EXPECT_EQ(Flops(forward), 2.0 * 2 * 6 * 64 * 2 * 9);
  EXPECT_EQ(Flops(weights), Flops(forward));
  EXPECT_EQ(ReductionLength(forward), 18);
  EXPECT_EQ(ReductionLength(weights), 128);
}

TEST(CostTest, TransposedConvolutionCostsAsMuchAsItsPlainTwin) {
  const Problem transposed =
      Parse("conv@1{dir=fwd,mode=trans,n=2,c=6,h=4,w=4,k=4,fh=3,fw=3,sh=2,sw=2}");
  const Problem plain = Parse("conv@1{dir=bwd_data,n=2,c=4,h=9,w=9,k=6,fh=3,fw=3,sh=2,sw=2}");

  EXPECT_EQ(Flops(transposed), Flops(plain));
  EXPECT_EQ(ReductionLength(transposed), ReductionLength(plain));
  EXPECT_EQ(CompulsoryBytes(transposed), CompulsoryBytes(plain));
}

TEST(CostTest, CompulsoryBytesCountSharedAndUpdatedOperands) {
  EXPECT_EQ(CompulsoryBytes(Parse("gemm@1{m=2,n=3,k=4}")), 4.0 * (8 + 12 + 6));
  EXPECT_EQ(CompulsoryBytes(Parse("gemm@1{m=2,n=3,k=4,beta=one}")), 4.0 * (8 + 12 + 2 * 6));
  EXPECT_EQ(CompulsoryBytes(Parse("gemm@1{m=2,n=3,k=4,batch=10,sa=0}")), 4.0 * (8 + 120 + 60));
}

TEST(ProblemTest, OtherOperatorsHaveNoOperandsAndCostNothing) {
  const Problem pool = Parse("pool@1{mode=max,n=1}");

  EXPECT_EQ(OperatorName(pool), "pool");
  EXPECT_TRUE(Operands(pool).empty());
  EXPECT_EQ(Flops(pool), 0);
}

TEST(ProblemTest, NamesThatWouldBreakTheTextAreRefused) {
  EXPECT_FALSE(Validate(Problem(OtherOp{"conv", {}})).ok());
  EXPECT_FALSE(Validate(Problem(OtherOp{"Pool", {}})).ok());
  EXPECT_FALSE(Validate(Problem(OtherOp{"pool", {{"a=b", "1"}}})).ok());
  EXPECT_TRUE(Validate(Problem(OtherOp{"pool", {{"mode", "any text, even {this}"}}})).ok());
}

}  // namespace
}  // namespace attune
