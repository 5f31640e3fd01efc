#include <algorithm>
#include <cmath>
#include <limits>

#include "attune/base/never_destroyed.h"
#include "attune/numeric/element.h"
#include "attune/numeric/parallel_for.h"
#include "attune/ops/softmax/softmax.h"
#include "attune/ops/softmax/softmax_reference.h"
#include "attune/problem/problem.h"
#include "attune/problem/sum_tolerance.h"

namespace attune {
namespace {

// Elements for each task: some 0.1 ms.
constexpr int64_t kTaskElements = 1 << 14;
// An exponential and its neighbours, in multiply-adds.
constexpr double kCostOfElement = 20;

// The elements along the axis for one place of the other two.
struct Line {
  int64_t first = 0;
  int64_t step = 1;
  int64_t row = 0;  // Its outer index.
  int64_t At(int64_t i) const { return first + i * step; }
};

Line LineOf(const Softmax& softmax, int64_t index) {
  const int64_t outer = index / softmax.inner;
  return {outer * softmax.length * softmax.inner + index % softmax.inner, softmax.inner, outer};
}

class Forward {
 public:
  Forward(const Softmax& softmax, std::span<const OperandValues> inputs, std::span<double> y)
      : softmax_(softmax),
        x_(inputs[0]),
        mask_(softmax.mask == SoftmaxMask::kAdditive ? inputs[1].data() : nullptr),
        y_(y),
        scale_(softmax.scaled ? kSoftmaxScale : 1) {}

  void Compute(const Line& line) const {
    double largest = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < softmax_.length; ++i) largest = std::max(largest, Z(line, i));
    double sum = 0;
    for (int64_t i = 0; i < softmax_.length; ++i) sum += std::exp(Z(line, i) - largest);
    const double log_sum = std::log(sum);
    for (int64_t i = 0; i < softmax_.length; ++i) {
      const double z = Z(line, i) - largest;
      y_[static_cast<size_t>(line.At(i))] = softmax_.logarithm ? z - log_sum : std::exp(z) / sum;
    }
  }

 private:
  double Z(const Line& line, int64_t i) const {
    const int64_t query = line.row % softmax_.queries;
    if (softmax_.mask == SoftmaxMask::kCausal && i > query) {
      return -std::numeric_limits<double>::infinity();
    }
    const double z = scale_ * x_[static_cast<size_t>(line.At(i))];
    return mask_ == nullptr ? z : z + mask_[query * softmax_.length + i];
  }

  const Softmax& softmax_;
  const OperandValues& x_;
  const double* const mask_;
  const std::span<double> y_;
  const double scale_;
};

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
    const Forward forward(softmax, inputs, results);
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
          forward.Compute(line);
        }
      }
    });
  }

  Tolerance ToleranceOf(const Problem& problem) const override;
};

// Inputs are in [-1, 1], so that exponents lie within some units. Forward, an element carries the
// rounding of its argument, of the exponential (2 ulp in the libraries of GPUs), of the quotient
// and of the sum, whose terms are positive: a random walk of sqrt(length) roundings, some six
// deviations of it. A logarithm has these as an absolute error. Backward is a sum of `length`
// products of zero mean, and one more product.
Tolerance SoftmaxRef::ToleranceOf(const Problem& problem) const {
  const Softmax& softmax = problem.Get<Softmax>();
  const double u = UnitRoundoff(DataType::kF32);
  const double u_output = UnitRoundoff(softmax.type);
  const auto length = static_cast<double>(softmax.length);
  if (softmax.backward) {
    ProductSum sum;
    sum.k = length;
    sum.alpha = softmax.scaled ? kSoftmaxScale : 1;
    sum.added = sum.alpha;
    // No tensor core adds up these products.
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
  // Half of the smallest subnormal number: small shares in f16.
  if (softmax.type == DataType::kF16) tolerance.absolute += 0x1p-25;
  return tolerance;
}

}  // namespace

const Reference& SoftmaxReference() {
  static const NeverDestroyed<SoftmaxRef> reference{SoftmaxRef()};
  return *reference;
}

}  // namespace attune
