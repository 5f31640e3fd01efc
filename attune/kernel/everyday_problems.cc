#include "attune/kernel/everyday_problems.h"

#include <cstdint>
#include <span>

namespace attune::kernel {
namespace {

struct Arithmetic {
  DataType type;
  MathMode math;
};
constexpr Arithmetic kArithmetics[] = {{DataType::kF32, MathMode::kStrict},
                                       {DataType::kF32, MathMode::kTf32},
                                       {DataType::kF64, MathMode::kStrict},
                                       {DataType::kF16, MathMode::kStrict},
                                       {DataType::kBf16, MathMode::kStrict}};

struct Epilogue {
  ScalarClass beta;
  Bias bias;
  Activation activation;
};
constexpr Epilogue kEpilogues[] = {
    {ScalarClass::kZero, Bias::kNone, Activation::kNone},
    {ScalarClass::kOne, Bias::kNone, Activation::kNone},
    {ScalarClass::kZero, Bias::kPerRow, Activation::kNone},
    {ScalarClass::kZero, Bias::kPerRow, Activation::kRelu},
    // Libraries have these in other forms, or not at all.
    {ScalarClass::kZero, Bias::kPerRow, Activation::kGelu},
    {ScalarClass::kZero, Bias::kPerRow, Activation::kTanh},
    {ScalarClass::kZero, Bias::kPerRow, Activation::kSigmoid},
};

constexpr size_t kPlainEpilogues = 3;

// Odd, so that nothing is specialised for a round number.
constexpr int64_t kExtent = 997;
constexpr int64_t kFew = 3;

void AddGemms(const Gemm& shape, std::span<const Epilogue> epilogues,
              std::vector<Problem>& problems) {
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      for (const Epilogue& epilogue : epilogues) {
        Gemm gemm = shape;
        gemm.trans_a = trans_a;
        gemm.trans_b = trans_b;
        gemm.beta = epilogue.beta;
        gemm.bias = epilogue.bias;
        gemm.activation = epilogue.activation;
        problems.emplace_back(Normalized(gemm));
      }
    }
  }
}

void AddConvs(const Arithmetic& arithmetic, std::vector<Problem>& problems) {
  for (const ConvDirection direction :
       {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      for (const int64_t groups : {1, 64}) {
        Conv conv;
        conv.direction = direction;
        conv.batch = 2;
        conv.in_channels = conv.out_channels = 64;
        conv.groups = groups;
        conv.in = {1, 29, 31};
        conv.filter = {1, 3, 3};
        conv.pad = {0, 1, 1};
        conv.in_layout = conv.weights_layout = conv.out_layout = layout;
        conv.type = arithmetic.type;
        conv.math = arithmetic.math;
        problems.emplace_back(conv);
        if (direction != ConvDirection::kForward) continue;
        conv.bias = true;
        problems.emplace_back(conv);
      }
    }
  }
}

}  // namespace

std::vector<Problem> EverydayProblems() {
  std::vector<Problem> problems;
  for (const Arithmetic& arithmetic : kArithmetics) {
    Gemm gemm;
    gemm.type = gemm.c_type = arithmetic.type;
    gemm.math = arithmetic.math;
    gemm.m = gemm.n = gemm.k = kExtent;
    AddGemms(gemm, kEpilogues, problems);
    const std::span plain(kEpilogues, kPlainEpilogues);
    gemm.n = kFew;
    AddGemms(gemm, plain, problems);
    gemm.n = kExtent;
    gemm.m = kFew;
    AddGemms(gemm, plain, problems);
    AddConvs(arithmetic, problems);
  }
  return problems;
}

}  // namespace attune::kernel
