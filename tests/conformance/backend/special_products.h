// Products of matrices with zeros, NaN, infinities and denormal numbers all over, against their
// definition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/random.h"
#include "attune/device/device.h"
#include "attune/problem/gemm.h"

namespace attune {

// What the operands of a product hold beside small numbers.
enum class SpecialContent {
  kNonFinite,  // Zeros in plenty, a few NaN and infinities, in C too.
  kDenormal,   // Inputs, results or both are below the least normal number.
};

// One product with its operands in host memory. f32 and f64 alone, one matrix, no bias.
class SpecialProduct {
 public:
  // Of any shape up to some hundred, flags, scalar classes and leading dimensions.
  SpecialProduct(Random& random, DataType type, SpecialContent content);

  const Gemm& gemm() const { return gemm_; }

  // Runs `executable` on copies of the operands in memory of `device`; what is wrong with C, in
  // words, or nothing.
  Result<std::optional<std::string>> Try(Executable& executable, Device& device) const;

 private:
  double AtA(int64_t i, int64_t l) const;
  double AtB(int64_t l, int64_t j) const;
  std::optional<std::string> Compare(const std::vector<std::byte>& c) const;

  Gemm gemm_;
  SpecialContent content_;
  double alpha_ = 1, beta_ = 0;
  std::vector<double> a_, b_, c_;  // As they are stored, every element exact in its type.
};

}  // namespace attune
