// The reference of an operator: its results in higher precision, and the tolerance for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/encoded_values.h"
#include "attune/base/product.h"
#include "attune/base/status.h"
#include "attune/base/tolerance.h"
#include "attune/base/work_watch.h"
#include "attune/problem/tensor.h"

namespace attune {

class Problem;

// Decoded values of one operand, gaps included: the element at offset o is values[o]. Gaps hold any
// value.
using OperandValues = std::vector<double>;

// Pointers to the values of each operand.
inline std::vector<const double*> PointersTo(std::span<const OperandValues> operands) {
  std::vector<const double*> pointers;
  for (const OperandValues& values : operands) pointers.push_back(values.data());
  return pointers;
}

// The operations between a sum of products and the element of the output.
struct SumEpilogue {
  double factor = 1;          // |alpha|.
  bool is_activated = false;  // By a function other than the identity.
  bool is_exact = false;      // For integers, which f64 does not round.
};

// An element of an operand that a test of special values overwrites.
struct PlantedElement {
  size_t operand = 0;
  int64_t offset = 0;  // In elements.
  DataType type = DataType::kF32;
  double value = 0;
};

// Reads `count` elements of an operand from an offset in elements, as bytes.
using ElementReader =
    std::function<Result<std::vector<std::byte>>(size_t operand, int64_t offset, int64_t count)>;

// A test with NaN, infinities or subnormal numbers in inputs.
class SpecialValues {
 public:
  virtual ~SpecialValues() = default;
  virtual std::vector<PlantedElement> planted() const = 0;
  // Returns a message about the first wrong element of the result, or nothing.
  virtual Result<std::optional<std::string>> FindWrong(const ElementReader& read) const = 0;
};

// The inputs of a problem, empty for an output, and the right results.
struct ReferenceData {
  std::vector<std::span<const std::byte>> inputs;
  std::span<const double> reference;
};

// kUnsupported for a type with results that cannot be checked: other than f64, f32, f16, bf16 and
// i32.
Status CheckTypeOfOutput(std::string_view operand, DataType type);

// Multiply-adds of a problem with output elements that are sums of ReductionLength() products.
double MultiplyAddsOfProducts(const Problem& problem);

// The reference of one operator. Stateless and thread-safe. REQUIRES: CheckVerifiable() is ok for
// problems passed to other members.
class Reference {
 public:
  virtual ~Reference() = default;

  // kUnsupported, with the reason, if results of the problem cannot be compared.
  virtual Status CheckVerifiable(const Problem& problem) const = 0;
  // The cost of Compute() in multiply-adds of f64.
  virtual double MultiplyAdds(const Problem& problem) const = 0;
  // Writes the right results, one output after the other, at the offsets of elements. Gaps are not
  // written. `inputs` are the operands that are read, in order. `watch` counts multiply-adds; if it
  // stops the work, elements stay unwritten.
  virtual void Compute(const Problem& problem, std::span<const OperandValues> inputs,
                       std::span<double> results, WorkWatch& watch) const = 0;
  // The tolerance of a written operand, by its position in Operands().
  virtual GroupTolerance ToleranceOf(const Problem& problem, size_t operand) const = 0;

  // An operator with inputs that cannot be uniform in [-1, 1], such as variances, changes them:
  // values [first, first + values.size()) of an operand without gaps, which are uniform at first.
  virtual bool AdjustsInput(const Problem&, size_t /*operand*/) const { return false; }
  virtual void AdjustInput(const Problem&, size_t /*operand*/, int64_t /*first*/,
                           std::span<double>) const {}

  // The products of a problem with results that are sums of products, to compute single elements.
  // Null for other operators.
  virtual std::unique_ptr<ProductSource> Products(const Problem&, std::vector<EncodedValues>,
                                                  OneElement) const {
    return nullptr;
  }
  virtual SumEpilogue EpilogueOf(const Problem&) const { return {}; }

  // Tests that a solver with the trait ieee_special_values must pass. `data` outlives them.
  virtual std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(const Problem&,
                                                                      const ReferenceData&) const {
    return {};
  }
};

}  // namespace attune
