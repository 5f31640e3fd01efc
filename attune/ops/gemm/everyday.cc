// Products of every type and transposition, plain and with a bias and an activation, also with few
// rows or columns.
#include <cstdint>
#include <span>

#include "attune/ops/everyday.h"
#include "attune/ops/gemm/gemm_operator.h"

namespace attune {
namespace {

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

}  // namespace

std::vector<Problem> EverydayGemms() {
  std::vector<Problem> problems;
  for (const Arithmetic& arithmetic : kEverydayArithmetics) {
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
  }
  return problems;
}

}  // namespace attune
