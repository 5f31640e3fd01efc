// Problems computed on the host as solvers compute them on a device, with numbers that leave
// nothing to rounding.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/problem.h"
#include "attune/problem/reference.h"
#include "attune/verify/problem_data.h"

namespace attune::cuda {

inline Problem ProblemOf(const std::string& text) {
  const auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text << ": " << problem.status().message();
  return problem.ok() ? *problem : Problem();
}
inline Gemm GemmOf(const std::string& text) { return ProblemOf(text).Get<Gemm>(); }
inline Conv ConvOf(const std::string& text) { return ProblemOf(text).Get<Conv>(); }

// Integers, so that every sum is exact; an output that is not read is filled with values that would
// show.
inline std::vector<OperandValues> OperandsOnHost(const Problem& problem) {
  std::vector<OperandValues> operands;
  uint32_t state = 1;
  for (const Operand& operand : Operands(problem)) {
    OperandValues values(static_cast<size_t>(SpanElements(operand.tensor)), 9999);
    for (double& value : values) {
      state = state * 1664525u + 1013904223u;
      if (operand.role != OperandRole::kOut) value = static_cast<int>(state >> 24) % 7 - 3;
    }
    operands.push_back(std::move(values));
  }
  return operands;
}

// The expected output of a convolution.
inline OperandValues ExpectedOf(const Conv& conv, const std::vector<OperandValues>& operands) {
  const std::vector<OperandValues> inputs(operands.begin(), operands.end() - 1);
  OperandValues output(operands.back().size());
  const GoOn always;
  WorkWatch watch(always, 1);
  ConvOperator().reference()->Compute(conv, inputs, output, watch);
  return output;
}

// The expected output of a product, gaps as they were.
inline OperandValues ExpectedOf(const Gemm& gemm, const std::vector<OperandValues>& operands) {
  std::vector<OperandValues> inputs = operands;
  if (gemm.beta == ScalarClass::kZero) inputs.pop_back();
  OperandValues output = operands.back();
  const GoOn always;
  WorkWatch watch(always, 1);
  GemmOperator().reference()->Compute(gemm, inputs, output, watch);
  return output;
}

// C = alpha op(A) op(B) + beta C + bias for each matrix of the batch, as cuBLASLt does it.
struct HostProduct {
  const double* a = nullptr;
  const double* b = nullptr;
  const double* bias = nullptr;
  double* c = nullptr;
  double beta = 0;
  double alpha = 1;
};

inline void MultiplyOnHost(const Gemm& gemm, const HostProduct& product) {
  for (int64_t matrix = 0; matrix < gemm.batch_count; ++matrix) {
    const double* const a = product.a + matrix * gemm.stride_a;
    const double* const b = product.b + matrix * gemm.stride_b;
    double* const c = product.c + matrix * gemm.stride_c;
    for (int64_t i = 0; i < gemm.m; ++i) {
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < gemm.k; ++k) {
          sum += a[gemm.trans_a == Transpose::kYes ? k + i * gemm.lda : i + k * gemm.lda] *
                 b[gemm.trans_b == Transpose::kYes ? j + k * gemm.ldb : k + j * gemm.ldb];
        }
        sum *= product.alpha;
        if (gemm.bias == Bias::kPerRow) sum += product.bias[i];
        double& to = c[i + j * gemm.ldc];
        to = product.beta == 0 ? sum : sum + product.beta * to;
      }
    }
  }
}

// The same on operands as OperandsOnHost has them, with the numbers of alpha's and beta's classes.
// REQUIRES: no activation.
inline void MultiplyOnHost(const Gemm& gemm, std::vector<OperandValues>& operands) {
  const double* const bias = gemm.bias == Bias::kNone ? nullptr : operands[2].data();
  MultiplyOnHost(gemm, {operands[0].data(), operands[1].data(), bias, operands.back().data(),
                        BetaValue(gemm), AlphaValue(gemm)});
}

}  // namespace attune::cuda
