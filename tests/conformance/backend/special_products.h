// Random products with many zeros, NaN, infinities and denormal numbers, compared with the
// definition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/base/random.h"
#include "attune/device/device.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {

enum class SpecialContent {
  kNonFinite,  // Many zeros, a few NaN and infinities, in C too.
  kDenormal,   // Inputs, results or both are denormal.
};

// One product of f32 or f64 without batch and bias. Its operands are in host memory.
class SpecialProduct {
 public:
  // Random extents up to 257, transposition, scalars and leading dimensions.
  SpecialProduct(Random& random, DataType type, SpecialContent content);

  const Gemm& gemm() const { return gemm_; }

  // Runs `executable` on copies of the operands on `device`. Returns a message about the first
  // wrong element of C, if any.
  Result<std::optional<std::string>> Try(Executable& executable, Device& device) const;

 private:
  double AtA(int64_t i, int64_t l) const;
  double AtB(int64_t l, int64_t j) const;
  std::optional<std::string> Compare(const std::vector<std::byte>& c) const;

  Gemm gemm_;
  SpecialContent content_;
  double alpha_ = 1, beta_ = 0;
  std::vector<double> a_, b_, c_;  // As stored, exact in their type.
};

}  // namespace attune
