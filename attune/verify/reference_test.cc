#include "attune/problem/reference.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/verify/naive_reference.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

std::vector<OperandValues> InputsOf(const Problem& problem, const ProblemData& data) {
  std::vector<OperandValues> inputs;
  const std::vector<Operand> operands = Operands(problem);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (data.input(i).empty()) continue;
    OperandValues& values =
        inputs.emplace_back(data.input(i).size() / SizeBytes(operands[i].tensor.type));
    Decode(operands[i].tensor.type, data.input(i), values);
  }
  return inputs;
}

void ExpectSame(std::span<const double> fast, const std::vector<double>& naive,
                const std::string& text) {
  ASSERT_EQ(fast.size(), naive.size()) << text;
  for (size_t i = 0; i < naive.size(); ++i) {
    ASSERT_EQ(std::isnan(fast[i]), std::isnan(naive[i])) << text << " at " << i;
    if (std::isnan(naive[i])) continue;
    ASSERT_NEAR(fast[i], naive[i], 1e-11) << text << " at " << i;
  }
}

class GemmReferenceTest : public testing::TestWithParam<const char*> {};

TEST_P(GemmReferenceTest, AgreesWithTheDefinition) {
  const Problem problem = *ParseProblem(GetParam());
  const ProblemData data = *ProblemData::Create(problem, 11);

  const std::vector<double> naive =
      NaiveGemm(problem.Get<Gemm>(), InputsOf(problem, data), data.alpha(), data.beta());

  ExpectSame(data.reference(), naive, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Problems, GemmReferenceTest,
    testing::Values(
        "gemm@1{m=1,n=1,k=1}", "gemm@1{m=5,n=7,k=3}", "gemm@1{m=300,n=210,k=140}",
        "gemm@1{m=4,n=16,k=129}", "gemm@1{m=270,n=1,k=33}", "gemm@1{m=1,n=270,k=33}",
        "gemm@1{m=20,n=30,k=40,ta=t}", "gemm@1{m=20,n=30,k=40,tb=t}",
        "gemm@1{m=20,n=30,k=40,ta=t,tb=t,type=f64}",
        "gemm@1{m=20,n=30,k=40,lda=23,ldb=45,ldc=29,type=bf16}",
        "gemm@1{m=9,n=8,k=7,batch=5,type=f16}", "gemm@1{m=9,n=8,k=7,batch=5,sa=0,lda=12,ldc=11}",
        "gemm@1{m=9,n=8,k=7,batch=3,sa=5,sb=0}", "gemm@1{m=9,n=8,k=7,alpha=other,beta=other}",
        "gemm@1{m=9,n=8,k=7,alpha=zero,beta=one,ldc=10}", "gemm@1{m=9,n=8,k=7,bias=row,act=relu}",
        "gemm@1{m=9,n=8,k=7,bias=column,act=gelu,beta=one}", "gemm@1{m=9,n=8,k=7,act=tanh}",
        "gemm@1{m=9,n=8,k=7,act=sigmoid}", "gemm@1{m=30,n=20,k=400,ta=t,type=i8,ctype=i32}",
        "gemm@1{m=9,n=8,k=7,batch=3,type=i8,ctype=i32,alpha=other,beta=other,bias=row,act=relu}",
        "gemm@1{m=33,n=65,k=257,type=f64,batch=2}"));

class ConvReferenceTest : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(ConvReferenceTest, AgreesWithTheDefinition) {
  const std::string text =
      std::string("conv@1{") + std::get<0>(GetParam()) + "," + std::get<1>(GetParam()) + "}";
  const auto problem = ParseProblem(text);
  ASSERT_TRUE(problem.ok()) << problem.status().ToString();
  const ProblemData data = *ProblemData::Create(*problem, 12);

  const std::vector<double> naive = NaiveConv(problem->Get<Conv>(), InputsOf(*problem, data));

  ExpectSame(data.reference(), naive, text);
}

INSTANTIATE_TEST_SUITE_P(
    Problems, ConvReferenceTest,
    testing::Combine(
        testing::Values("dir=fwd", "dir=bwd_data", "dir=bwd_weights", "dir=fwd,mode=trans",
                        "dir=bwd_data,mode=trans", "dir=bwd_weights,mode=trans"),
        testing::Values("n=1,c=1,h=1,w=1,k=1,fh=1,fw=1", "n=2,c=3,h=9,w=8,k=5,fh=3,fw=3,ph=1,pw=1",
                        "n=1,c=4,h=11,w=13,k=6,fh=3,fw=2,sh=2,sw=3,ph=2,pw=1",
                        "n=2,c=6,h=10,w=9,k=4,fh=2,fw=3,dh=2,dw=3,g=2,pw=3",
                        "n=1,c=8,h=7,w=7,k=8,fh=3,fw=3,g=8,ph=1,pw=1,layout=nhwc",
                        "n=3,c=5,h=6,w=6,k=7,fh=1,fw=1,type=f64",
                        "n=2,c=3,h=8,w=8,k=4,fh=5,fw=5,ph=4,pw=4,layout=nhwc,wlayout=nchw",
                        "n=1,c=2,d=5,h=6,w=7,k=3,fd=3,fh=2,fw=3,pd=1,ph=1,pw=2,sd=2,sw=2",
                        "n=1,c=4,d=4,h=5,w=6,k=2,fd=2,fh=3,fw=1,dd=2,g=2,layout=ndhwc,type=bf16",
                        "n=2,c=36,h=8,w=8,k=70,fh=3,fw=3,ph=1,pw=1")));
INSTANTIATE_TEST_SUITE_P(
    Forward, ConvReferenceTest,
    testing::Combine(
        testing::Values("dir=fwd"),
        testing::Values("n=2,c=3,h=9,w=8,k=5,fh=3,fw=3,bias=1",
                        "mode=trans,n=2,c=4,h=7,w=8,k=6,fh=2,fw=3,sh=2,sw=3,oph=1,opw=2",
                        "mode=trans,n=2,c=4,h=7,w=8,k=6,fh=3,fw=3,sh=2,sw=2,g=2,bias=1")));

TEST(ReferenceTest, F64SumsAreRightWhereDoublesLoseEverything) {
  Gemm gemm = PackedGemm(1, 1, 3, DataType::kF64);
  gemm.c_type = DataType::kF64;
  const std::vector<OperandValues> inputs = {{1e17, 1, -1e17}, {1, 1, 1}};
  std::vector<double> output(1);

  const GoOn always;
  WorkWatch watch(always, 3);

  GemmOperator().reference()->Compute(Normalized(gemm), inputs, output, watch);

  EXPECT_EQ(output[0], 1);
}

}  // namespace
}  // namespace attune
