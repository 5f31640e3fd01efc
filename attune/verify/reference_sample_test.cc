#include "attune/verify/reference_sample.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/verify/problem_data.h"

namespace attune {
namespace {

const char* const kProblems[] = {
    "gemm@1{m=1,n=1,k=1}",
    "gemm@1{m=70,n=33,k=2500,lda=77,ldc=75}",
    "gemm@1{m=20,n=30,k=40,ta=t,tb=t,type=f64}",
    "gemm@1{m=33,n=65,k=257,type=f64,batch=2,beta=other,alpha=other}",
    "gemm@1{m=9,n=8,k=7,batch=5,sa=0,lda=12,ldc=11,bias=column,act=gelu,beta=one}",
    "gemm@1{m=9,n=8,k=7,alpha=zero,beta=one,ldc=10,act=tanh}",
    "gemm@1{m=9,n=8,k=70,bias=row,act=sigmoid,type=bf16}",
    "gemm@1{m=40,n=32,k=64,type=f8e4m3,ctype=bf16}",
    "gemm@1{m=40,n=32,k=6400,type=i8,ctype=i32,alpha=other,beta=other}",
    "conv@1{dir=fwd,n=2,c=3,h=9,w=8,k=5,fh=3,fw=3,bias=1,ph=1}",
    "conv@1{dir=bwd_data,n=2,c=6,h=10,w=9,k=4,fh=2,fw=3,dh=2,dw=3,g=2,pw=3}",
    "conv@1{dir=bwd_weights,n=1,c=2,d=5,h=6,w=7,k=3,fd=3,fh=2,fw=3,pd=1,ph=1,pw=2,sd=2,sw=2}",
    "conv@1{dir=fwd,mode=trans,n=2,c=4,h=7,w=8,k=6,fh=3,fw=3,sh=2,sw=2,g=2,bias=1}",
    "conv@1{dir=bwd_data,mode=trans,n=1,c=8,h=7,w=7,k=8,fh=3,fw=3,g=8,layout=nhwc,type=f64}",
    "conv@1{dir=bwd_weights,mode=trans,n=1,c=4,h=11,w=13,k=6,fh=3,fw=2,sh=2,sw=3,type=f16}"};

Status CheckChanged(const std::string& text, const std::function<void(std::span<double>)>& change) {
  const Problem problem = *ParseProblem(text);
  const auto data = ProblemData::Create(problem, 11);
  EXPECT_TRUE(data.ok()) << text << data.status().message();
  std::vector<std::span<const std::byte>> inputs;
  for (size_t i = 0; i < Operands(problem).size(); ++i) inputs.push_back(data->input(i));
  std::vector<double> reference(data->reference().begin(), data->reference().end());
  change(reference);
  return CheckReference(problem, inputs, reference, 5);
}

TEST(ReferenceSampleTest, WhatTheProcessorComputesIsRight) {
  for (const char* text : kProblems) {
    const Status status = CheckChanged(text, [](std::span<double>) {});
    EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  }
}

TEST(ReferenceSampleTest, WhatIsOffByMoreThanRoundingIsFoundOut) {
  for (const char* text : kProblems) {
    const Status status = CheckChanged(text, [](std::span<double> reference) {
      for (double& value : reference) value += 1e-9;
    });
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << text;
  }
}

TEST(ReferenceSampleTest, TheFirstAndTheLastElementAreAlwaysAmongThem) {
  const std::string text = "gemm@1{m=300,n=200,k=10,batch=3}";
  EXPECT_FALSE(CheckChanged(text, [](std::span<double> of) { of.front() += 1e-3; }).ok());
  const Status last = CheckChanged(text, [](std::span<double> of) { of.back() += 1e-3; });
  EXPECT_NE(last.message().find("Element 179999 is"), std::string::npos) << last.message();
}

TEST(ReferenceSampleTest, OneHoleOneWrittenGapAndOneInfinityAreFoundOutWhereverTheyAre) {
  const std::string text = "gemm@1{m=300,n=2000,k=10,ldc=301}";
  const double nan = std::numeric_limits<double>::quiet_NaN();

  EXPECT_FALSE(CheckChanged(text, [&](std::span<double> of) { of[301 * 777 + 5] = nan; }).ok());
  EXPECT_FALSE(CheckChanged(text, [&](std::span<double> of) { of[301 * 777 + 300] = 1; }).ok());
  EXPECT_FALSE(
      CheckChanged(text, [&](std::span<double> of) { of[301 * 777 + 5] = INFINITY; }).ok());
}

TEST(ReferenceSampleTest, F64SumsHaveToBeBetterThanF64) {
  const std::string text = "gemm@1{m=8,n=8,k=5000,type=f64}";
  const Problem problem = *ParseProblem(text);
  const auto data = *ProblemData::Create(problem, 11);
  const auto* a = reinterpret_cast<const double*>(data.input(0).data());
  const auto* b = reinterpret_cast<const double*>(data.input(1).data());

  const Status status = CheckChanged(text, [&](std::span<double> reference) {
    for (size_t i = 0; i < 64; ++i) {
      double sum = 0;
      for (size_t k = 0; k < 5000; ++k) sum += a[k * 8 + i % 8] * b[i / 8 * 5000 + k];
      reference[i] = sum;
    }
  });

  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace attune
