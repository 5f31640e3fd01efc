// Convolutions computed on the host as solvers compute them on a device, with numbers that leave
// nothing to rounding.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/problem/problem.h"
#include "attune/verify/reference.h"

namespace attune::cuda {

inline Conv ConvOf(const std::string& text) {
  const auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text << ": " << problem.status().message();
  return problem.ok() ? std::get<Conv>(*problem) : Conv();
}

// Integers, so that every sum is exact; the output is filled with what would be seen.
inline std::vector<OperandValues> OperandsOnHost(const Conv& conv) {
  std::vector<OperandValues> operands;
  uint32_t state = 1;
  for (const Operand& operand : Operands(conv)) {
    OperandValues values(static_cast<size_t>(SpanElements(operand.tensor)), 9999);
    for (double& value : values) {
      state = state * 1664525u + 1013904223u;
      if (operand.role == OperandRole::kIn) value = static_cast<int>(state >> 24) % 7 - 3;
    }
    operands.push_back(std::move(values));
  }
  return operands;
}

// What the output has to be.
inline OperandValues ExpectedOf(const Conv& conv, const std::vector<OperandValues>& operands) {
  const std::vector<OperandValues> inputs(operands.begin(), operands.end() - 1);
  OperandValues output(operands.back().size());
  const GoOn always;
  WorkWatch watch(always, 1);
  ComputeConvReference(conv, inputs, output, watch);
  return output;
}

// C = op(A) op(B) + beta C + bias for each matrix of the batch, as cuBLASLt does it.
struct HostProduct {
  const double* a = nullptr;
  const double* b = nullptr;
  const double* bias = nullptr;
  double* c = nullptr;
  double beta = 0;
};

inline void MultiplyOnHost(const Gemm& gemm, const HostProduct& product) {
  for (int64_t matrix = 0; matrix < gemm.batch_count; ++matrix) {
    const double* const a = product.a + matrix * gemm.stride_a;
    const double* const b = product.b + matrix * gemm.stride_b;
    double* const c = product.c + matrix * gemm.stride_c;
    for (int64_t i = 0; i < gemm.m; ++i) {
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = gemm.bias == Bias::kPerRow ? product.bias[i] : 0;
        for (int64_t k = 0; k < gemm.k; ++k) {
          sum += a[gemm.trans_a == Transpose::kYes ? k + i * gemm.lda : i + k * gemm.lda] *
                 b[gemm.trans_b == Transpose::kYes ? j + k * gemm.ldb : k + j * gemm.ldb];
        }
        double& to = c[i + j * gemm.ldc];
        to = product.beta == 0 ? sum : sum + product.beta * to;
      }
    }
  }
}

}  // namespace attune::cuda
