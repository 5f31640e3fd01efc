// How a right answer to a problem is computed, and how far a result may lie from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/numeric/encoded_values.h"
#include "attune/numeric/product.h"
#include "attune/numeric/work_watch.h"
#include "attune/problem/tensor.h"

namespace attune {

class Problem;

// Values of one operand, decoded: element at offset o of its span is values[o]. Gaps hold anything.
using OperandValues = std::vector<double>;

// Where the values of each operand begin.
inline std::vector<const double*> PointersTo(std::span<const OperandValues> operands) {
  std::vector<const double*> pointers;
  for (const OperandValues& values : operands) pointers.push_back(values.data());
  return pointers;
}

// |x - reference| <= absolute + relative * |reference|.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  double Of(double reference) const { return absolute + relative * std::abs(reference); }
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// What becomes of a sum of products before it is an element of the output.
struct SumEpilogue {
  double factor = 1;          // |alpha|.
  bool is_activated = false;  // By a function other than the identity.
  bool is_exact = false;      // Integers, of which f64 rounds none.
};

// One element of an operand that a test of special values changes.
struct PlantedElement {
  size_t operand = 0;
  int64_t offset = 0;  // In elements.
  DataType type = DataType::kF32;
  double value = 0;
};

// Reads `count` elements of an operand from an offset in elements, as bytes.
using ElementReader =
    std::function<Result<std::vector<std::byte>>(size_t operand, int64_t offset, int64_t count)>;

// Inputs with NaN, infinities and denormal numbers, and what has to come of them.
class SpecialValues {
 public:
  virtual ~SpecialValues() = default;
  virtual std::vector<PlantedElement> planted() const = 0;
  // A message about the first wrong element of the result, if any.
  virtual Result<std::optional<std::string>> FindWrong(const ElementReader& read) const = 0;
};

// The data of a problem as its reference sees them: those of each operand, empty for an output, and
// the right results.
struct ReferenceData {
  std::vector<std::span<const std::byte>> inputs;
  std::span<const double> reference;
};

// kUnsupported unless results of `type` can be checked: f64, f32, f16, bf16 and i32.
Status CheckTypeOfOutput(std::string_view operand, DataType type);

// Multiply-adds of an operator whose every output element is a sum of ReductionLength() products.
double MultiplyAddsOfProducts(const Problem& problem);

// Of one operator. Stateless and thread-safe. REQUIRES of all but CheckVerifiable(): that accepts
// the problem.
class Reference {
 public:
  virtual ~Reference() = default;

  // Ok, or kUnsupported with what cannot be compared.
  virtual Status CheckVerifiable(const Problem& problem) const = 0;
  // What Compute() costs, in multiply-adds of f64.
  virtual double MultiplyAdds(const Problem& problem) const = 0;
  // Writes the right results, one operand after the other, each by the offsets of its span; gaps
  // are left alone. `inputs` are those of the operands that are read, in order. `watch` counts
  // multiply-adds; where it says stop, elements stay unwritten.
  virtual void Compute(const Problem& problem, std::span<const OperandValues> inputs,
                       std::span<double> results, WorkWatch& watch) const = 0;
  virtual Tolerance ToleranceOf(const Problem& problem) const = 0;

  // Of operators whose results are sums of products: the products, to compute some elements of.
  // Null for others.
  virtual std::unique_ptr<ProductSource> Products(const Problem&, std::vector<EncodedValues>,
                                                  OneElement) const {
    return nullptr;
  }
  virtual SumEpilogue EpilogueOf(const Problem&) const { return {}; }

  // Tests of special values that a solver with the trait ieee_special_values has to pass. `data`
  // outlives them.
  virtual std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(const Problem&,
                                                                      const ReferenceData&) const {
    return {};
  }
};

}  // namespace attune
