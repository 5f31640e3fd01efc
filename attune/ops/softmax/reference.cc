#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/base/encoded_values.h"
#include "attune/base/never_destroyed.h"
#include "attune/base/parallel_for.h"
#include "attune/ops/softmax/softmax.h"
#include "attune/ops/softmax/softmax_operator.h"
#include "attune/problem/problem.h"
#include "attune/problem/sum_tolerance.h"

namespace attune {
namespace {

// Elements of a task, which takes about 0.1 ms.
constexpr int64_t kTaskElements = 1 << 14;
// Longer lines are not tested with special values: each test computes two lines on one core.
constexpr int64_t kLongestTested = 1 << 22;
// The cost of an element, of which most is the exponential, in multiply-adds.
constexpr double kCostOfElement = 20;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// The elements along the axis at one position of the other two axes.
struct Line {
  int64_t first = 0;
  int64_t step = 1;
  int64_t row = 0;  // The outer index.
  int64_t At(int64_t i) const { return first + i * step; }
};

Line LineOf(const Softmax& softmax, int64_t index) {
  const int64_t outer = index / softmax.inner;
  return {outer * softmax.length * softmax.inner + index % softmax.inner, softmax.inner, outer};
}

// One line, forward. `x` and `mask` are indexed by offset.
template <class X, class Mask, class Y>
void ComputeForward(const Softmax& softmax, const Line& line, const X& x, const Mask& mask, Y y) {
  const double scale = softmax.scaled ? kSoftmaxScale : 1;
  const int64_t query = line.row % softmax.queries;
  const auto z_at = [&](int64_t i) {
    if (softmax.mask == SoftmaxMask::kCausal && i > query) return kMinusInfinity;
    const double z = scale * x[static_cast<size_t>(line.At(i))];
    if (softmax.mask != SoftmaxMask::kAdditive) return z;
    return z + mask[static_cast<size_t>(query * softmax.length + i)];
  };
  double largest = kMinusInfinity;
  for (int64_t i = 0; i < softmax.length; ++i) largest = std::max(largest, z_at(i));
  double sum = 0;
  for (int64_t i = 0; i < softmax.length; ++i) sum += std::exp(z_at(i) - largest);
  const double log_sum = std::log(sum);
  for (int64_t i = 0; i < softmax.length; ++i) {
    const double z = z_at(i) - largest;
    y[static_cast<size_t>(line.At(i))] = softmax.logarithm ? z - log_sum : std::exp(z) / sum;
  }
}

void ComputeBackward(const Softmax& softmax, std::span<const OperandValues> inputs,
                     const Line& line, std::span<double> dx) {
  const OperandValues& y = inputs[0];
  const OperandValues& dy = inputs[1];
  const double scale = softmax.scaled ? kSoftmaxScale : 1;
  double sum = 0;
  for (int64_t i = 0; i < softmax.length; ++i) {
    const auto at = static_cast<size_t>(line.At(i));
    sum += softmax.logarithm ? dy[at] : y[at] * dy[at];
  }
  for (int64_t i = 0; i < softmax.length; ++i) {
    const auto at = static_cast<size_t>(line.At(i));
    dx[at] = softmax.logarithm ? scale * (dy[at] - std::exp(y[at]) * sum)
                               : scale * y[at] * (dy[at] - sum);
  }
}

// A special value in the first and in the last line. A value far above the others overflows unless
// the maximum is subtracted.
class SpecialLines final : public SpecialValues {
 public:
  SpecialLines(const Softmax& softmax, const ReferenceData& data, double value)
      : softmax_(softmax), tolerance_(SoftmaxReference().ToleranceOf(softmax, 0).At(0)) {
    const int64_t lines = softmax.outer * softmax.inner;
    AddLine(LineOf(softmax, lines - 1), data, value);
    if (lines > 1) AddLine(LineOf(softmax, 0), data, value);
  }

  std::vector<PlantedElement> planted() const override { return planted_; }

  Result<std::optional<std::string>> FindWrong(const ElementReader& read) const override {
    const size_t output = softmax_.mask == SoftmaxMask::kAdditive ? 2 : 1;
    for (const auto& [offset, right] : right_) {
      ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read(output, offset, 1));
      const double actual = DecodeElement(softmax_.type, bytes.data(), 0);
      const bool is_right = std::isnan(right)   ? std::isnan(actual)
                            : std::isinf(right) ? actual == right
                                                : std::abs(actual - right) <= tolerance_.Of(right);
      if (is_right) continue;
      return std::optional(fmt::format("element {} is {:.9g}, expected {:.9g}", offset, actual,
                                       std::isnan(right) ? std::abs(right) : right));
    }
    return std::optional<std::string>();
  }

 private:
  // Elements compared at each end of a line.
  static constexpr int64_t kComparedAtAnEnd = 20;

  void AddLine(const Line& line, const ReferenceData& data, double value) {
    const int64_t query = line.row % softmax_.queries;
    const bool is_causal = softmax_.mask == SoftmaxMask::kCausal;
    const int64_t at = is_causal ? std::min(query, softmax_.length - 1) : softmax_.length - 1;
    std::vector<double> x(static_cast<size_t>(softmax_.length));
    for (int64_t i = 0; i < softmax_.length; ++i) {
      x[static_cast<size_t>(i)] = DecodeElement(softmax_.type, data.inputs[0].data(), line.At(i));
    }
    x[static_cast<size_t>(at)] = value;
    planted_.push_back({0, line.At(at), softmax_.type, value});
    const bool is_additive = softmax_.mask == SoftmaxMask::kAdditive;
    const EncodedValues mask(softmax_.type, is_additive ? data.inputs[1].data() : nullptr);
    std::vector<double> y(x.size());
    ComputeForward(softmax_, {0, 1, line.row}, x, mask, std::span<double>(y));
    for (int64_t i = 0; i < softmax_.length; ++i) {
      if (i >= kComparedAtAnEnd && i < softmax_.length - kComparedAtAnEnd) continue;
      right_.emplace_back(line.At(i), y[static_cast<size_t>(i)]);
    }
  }

  const Softmax softmax_;
  const Tolerance tolerance_;
  std::vector<PlantedElement> planted_;
  std::vector<std::pair<int64_t, double>> right_;  // Offsets and their results.
};

// NaN or infinity in the first gradient of the last line, which spreads over the line: its sum is
// not finite.
class SpecialGradient final : public SpecialValues {
 public:
  SpecialGradient(const Softmax& softmax, const ReferenceData& data, double value)
      : softmax_(softmax),
        line_(LineOf(softmax, softmax.outer * softmax.inner - 1)),
        value_(value),
        first_(data.reference.front()),
        tolerance_(SoftmaxReference().ToleranceOf(softmax, 0).At(0)) {}

  std::vector<PlantedElement> planted() const override {
    // Where y is 0, or its logarithm very small, no gradient passes.
    const double open = softmax_.logarithm ? -1 : 0.5;
    return {{1, line_.At(0), softmax_.type, value_}, {0, line_.At(0), softmax_.type, open}};
  }

  Result<std::optional<std::string>> FindWrong(const ElementReader& read) const override {
    const auto element = [&](int64_t offset) -> Result<double> {
      ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read(2, offset, 1));
      return DecodeElement(softmax_.type, bytes.data(), 0);
    };
    for (const int64_t i : {int64_t{0}, softmax_.length - 1}) {
      ATTUNE_ASSIGN_OR_RETURN(const double actual, element(line_.At(i)));
      if (std::isnan(value_) ? std::isnan(actual) : !std::isfinite(actual)) continue;
      return std::optional(
          fmt::format("element {} of a line with {} is {:.9g}", line_.At(i), value_, actual));
    }
    if (softmax_.outer * softmax_.inner == 1) return std::optional<std::string>();
    ATTUNE_ASSIGN_OR_RETURN(const double other, element(0));
    if (std::abs(other - first_) <= tolerance_.Of(first_)) return std::optional<std::string>();
    return std::optional(
        fmt::format("element 0 of another line is {:.9g}, expected {:.9g}", other, first_));
  }

 private:
  const Softmax softmax_;
  const Line line_;
  const double value_;
  const double first_;  // The result in the first line, which has no special value.
  const Tolerance tolerance_;
};

class SoftmaxRef final : public Reference {
 public:
  Status CheckVerifiable(const Problem&) const override { return Status::Ok(); }

  double MultiplyAdds(const Problem& problem) const override {
    const Softmax& softmax = problem.Get<Softmax>();
    return kCostOfElement * static_cast<double>(softmax.outer) *
           static_cast<double>(softmax.length) * static_cast<double>(softmax.inner);
  }

  void Compute(const Problem& problem, std::span<const OperandValues> inputs,
               std::span<double> results, WorkWatch& watch) const override {
    const Softmax& softmax = problem.Get<Softmax>();
    const OperandValues& mask = inputs.back();
    const int64_t lines = softmax.outer * softmax.inner;
    const int64_t each = std::max<int64_t>(1, kTaskElements / softmax.length);
    ParallelFor((lines + each - 1) / each, [&](int64_t task) {
      const int64_t end = std::min(lines, (task + 1) * each);
      if (!watch.Note(kCostOfElement * static_cast<double>(each * softmax.length))) return;
      for (int64_t index = task * each; index < end; ++index) {
        const Line line = LineOf(softmax, index);
        if (softmax.backward) {
          ComputeBackward(softmax, inputs, line, results);
        } else {
          ComputeForward(softmax, line, inputs[0], mask, results);
        }
      }
    });
  }

  GroupTolerance ToleranceOf(const Problem& problem, size_t operand) const override;

  std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(
      const Problem& problem, const ReferenceData& data) const override {
    std::vector<std::unique_ptr<SpecialValues>> tests;
    const Softmax& softmax = problem.Get<Softmax>();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (softmax.backward) {
      for (const double value : {kNan, -kMinusInfinity, kMinusInfinity}) {
        tests.push_back(std::make_unique<SpecialGradient>(softmax, data, value));
      }
      return tests;
    }
    if (softmax.length > kLongestTested) return tests;
    // The largest number of f16 is 65504.
    for (const double value : {1e4, kNan, -kMinusInfinity, kMinusInfinity}) {
      tests.push_back(std::make_unique<SpecialLines>(softmax, data, value));
    }
    return tests;
  }
};

// Inputs are in [-1, 1], so exponents are small. Forward, the argument, the exponential (2 ulp in
// the libraries of GPUs), the quotient and the sum are rounded. The terms of the sum are positive:
// its error is a random walk of sqrt(length) roundings, of which the tolerance allows six
// deviations. In a logarithm the same error is absolute. Backward is a sum of `length` products of
// zero mean and one more product.
GroupTolerance SoftmaxRef::ToleranceOf(const Problem& problem, size_t) const {
  const Softmax& softmax = problem.Get<Softmax>();
  const double u = UnitRoundoff(DataType::kF32);
  const double u_output = UnitRoundoff(softmax.type);
  const auto length = static_cast<double>(softmax.length);
  if (softmax.backward) {
    ProductSum sum;
    sum.k = length;
    sum.alpha = softmax.scaled ? kSoftmaxScale : 1;
    sum.added = sum.alpha;
    // Tensor cores do not compute these products.
    sum.input = DataType::kF32;
    sum.output = softmax.type;
    Tolerance tolerance = attune::ToleranceOf(sum);
    // exp(y) is at most e.
    if (softmax.logarithm) tolerance.absolute *= 4;
    return tolerance;
  }
  const double roundings = 8 + 2 * std::sqrt(length);
  Tolerance tolerance;
  tolerance.relative = u_output + roundings * u;
  if (softmax.logarithm) tolerance.absolute = roundings * u * (1 + std::log(length));
  // Half of the smallest subnormal f16.
  if (softmax.type == DataType::kF16) tolerance.absolute += 0x1p-25;
  return tolerance;
}

}  // namespace

const Reference& SoftmaxReference() {
  static const NeverDestroyed<SoftmaxRef> reference{SoftmaxRef()};
  return *reference;
}

}  // namespace attune
