// Whether a reference that somebody else computed is right, as far as a few of its elements tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/verify/element.h"
#include "attune/verify/product.h"

namespace attune {

// Elements of an operand that are decoded when they are read: a sample needs few of them. Used like
// a pointer to doubles. Borrows the bytes.
class EncodedValues {
 public:
  EncodedValues() = default;
  EncodedValues(DataType type, const std::byte* bytes) : type_(type), bytes_(bytes) {}

  double operator[](int64_t i) const { return DecodeElement(type_, bytes_, i); }
  EncodedValues operator+(int64_t i) const {
    return {type_, bytes_ + i * static_cast<int64_t>(SizeBytes(type_))};
  }

 private:
  DataType type_ = DataType::kF64;
  const std::byte* bytes_ = nullptr;
};

// What stands for an output of which one element is written: which one, and what.
struct ReferenceElement {
  int64_t offset = -1;
  double value = 0;
};
struct OneElement {
  ReferenceElement* element = nullptr;
  double& operator[](size_t offset) const {
    element->offset = static_cast<int64_t>(offset);
    return element->value;
  }
};

// The products of one problem, to compute some elements of; `inputs` as for its reference.
std::unique_ptr<ProductSource> SampledGemm(const Gemm& gemm, std::vector<EncodedValues> inputs,
                                           OneElement output);
std::unique_ptr<ProductSource> SampledConv(const Conv& conv, std::vector<EncodedValues> inputs,
                                           OneElement output);

// Ok if `reference` may be what f64 arithmetic makes of `inputs` (of Operands(problem); an output's
// is empty, and values are as ProblemData makes them), in double-double for an f64 problem;
// kDataLoss with the first element that is not. Every element has to be a finite number and every
// gap a NaN. Of those at the corners and of others that `seed` chooses, some 64 in all and fewer
// where each is long, the value has to lie as near to that of this processor as rounding errors of
// a sum in any order allow (Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
// section 3.1). Milliseconds, and what it takes to read the reference once. REQUIRES:
// CheckVerifiable(problem), reference.size() is the span of the output.
Status CheckReference(const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                      std::span<const double> reference, uint64_t seed);

}  // namespace attune
