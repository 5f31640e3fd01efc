#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "attune/base/element.h"
#include "attune/base/never_destroyed.h"
#include "attune/base/product.h"
#include "attune/ops/gemm/gemm_operator.h"
#include "attune/problem/sum_tolerance.h"

namespace attune {
namespace {

double Activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return x;
}

// Reads `Values` and writes to `Output`, both indexed by offsets in elements.
template <class Values, class Output>
class GemmSource final : public ProductSource {
 public:
  GemmSource(const Gemm& gemm, std::vector<Values> inputs, Output output)
      : gemm_(gemm),
        inputs_(std::move(inputs)),
        alpha_(AlphaValue(gemm)),
        beta_(BetaValue(gemm)),
        output_(output) {
    size_t next = 2;
    if (gemm.bias != Bias::kNone) bias_ = next++;
    if (gemm.beta != ScalarClass::kZero) initial_ = next++;
    assert(next == inputs_.size());
  }

  Shape shape() const override { return {gemm_.batch_count, gemm_.m, gemm_.n, gemm_.k}; }

  void GatherA(int64_t which, Range ks, Range ms, double* panel,
               int64_t row_stride) const override {
    const bool transposed = gemm_.trans_a == Transpose::kYes;
    const Values a = inputs_[0] + which * gemm_.stride_a;
    const Strided matrix = {a, transposed ? 1 : gemm_.lda, transposed ? gemm_.lda : 1};
    Gather(matrix, ks, ms, panel, row_stride);
  }

  void GatherB(int64_t which, Range ks, Range ns, double* panel,
               int64_t row_stride) const override {
    const bool transposed = gemm_.trans_b == Transpose::kYes;
    const Values b = inputs_[1] + which * gemm_.stride_b;
    const Strided matrix = {b, transposed ? gemm_.ldb : 1, transposed ? 1 : gemm_.ldb};
    Gather(matrix, ks, ns, panel, row_stride);
  }

  void Store(int64_t which, Range ms, Range ns, const double* sums,
             int64_t row_stride) const override {
    for (int64_t n = ns.begin; n < ns.end; ++n) {
      for (int64_t m = ms.begin; m < ms.end; ++m) {
        const int64_t at = which * gemm_.stride_c + m + n * gemm_.ldc;
        double value = alpha_ * sums[(m - ms.begin) * row_stride + n - ns.begin];
        if (initial_ != 0) value += beta_ * inputs_[initial_][at];
        if (bias_ != 0) value += inputs_[bias_][gemm_.bias == Bias::kPerRow ? m : n];
        output_[static_cast<size_t>(at)] = Activate(gemm_.activation, value);
      }
    }
  }

 private:
  // A or B by its two indices: that of the sum, and its own.
  struct Strided {
    Values values;
    int64_t k_stride, other_stride;
  };

  // The index that is contiguous in memory runs innermost: strided reads cost more than strided
  // writes.
  static void Gather(const Strided& matrix, Range ks, Range others, double* panel,
                     int64_t row_stride) {
    const int64_t k_stride = matrix.k_stride;
    const int64_t other_stride = matrix.other_stride;
    const Values from = matrix.values + ks.begin * k_stride + others.begin * other_stride;
    if (other_stride == 1) {
      for (int64_t k = 0; k < ks.size(); ++k) {
        for (int64_t i = 0; i < others.size(); ++i) {
          panel[k * row_stride + i] = from[k * k_stride + i];
        }
      }
      return;
    }
    for (int64_t i = 0; i < others.size(); ++i) {
      for (int64_t k = 0; k < ks.size(); ++k) {
        panel[k * row_stride + i] = from[k * k_stride + i * other_stride];
      }
    }
  }

  const Gemm& gemm_;
  std::vector<Values> inputs_;
  double alpha_;
  double beta_;
  Output output_;
  size_t bias_ = 0;  // Index in inputs_; 0: none.
  size_t initial_ = 0;
};

ProductSum SumOf(const Gemm& gemm) {
  ProductSum sum;
  sum.k = static_cast<double>(gemm.k);
  sum.alpha = std::abs(AlphaValue(gemm));
  sum.added = std::abs(BetaValue(gemm)) + (gemm.bias == Bias::kNone ? 0 : 1);
  sum.input = gemm.type;
  sum.output = gemm.c_type;
  sum.math = gemm.math;
  sum.activated = gemm.activation != Activation::kNone;
  // The argument may have been rounded too, and where the activation is small its slope times its
  // argument is not (0.2 for the Gaussian error unit).
  if (sum.activated) sum.added += 0.25;
  return sum;
}

// Sums of products of i8 are exact in f64. Six deviations of a sum of so many, which is 5461
// sqrt(k), three times because of alpha and together with C and a bias, are within i32.
constexpr int64_t kMostIntegerTerms = int64_t{1} << 28;

Status CheckIntegers(const Gemm& gemm) {
  const bool is_exact =
      gemm.type == DataType::kI8 && gemm.c_type == DataType::kI32 && gemm.k <= kMostIntegerTerms &&
      (gemm.activation == Activation::kNone || gemm.activation == Activation::kRelu);
  if (is_exact) return Status::Ok();
  return Unsupported(fmt::format(
      "Of integers, products of i8 into i32 are checked, with no activation or with relu "
      "and k up to {}.",
      kMostIntegerTerms));
}

class GemmRef final : public Reference {
 public:
  Status CheckVerifiable(const Problem& problem) const override {
    const Gemm& gemm = problem.Get<Gemm>();
    if (IsInteger(gemm.type) || IsInteger(gemm.c_type)) return CheckIntegers(gemm);
    return CheckTypeOfOutput("c", gemm.c_type);
  }
  double MultiplyAdds(const Problem& problem) const override {
    return MultiplyAddsOfProducts(problem);
  }
  void Compute(const Problem& problem, std::span<const OperandValues> inputs,
               std::span<double> results, WorkWatch& watch) const override {
    const Gemm& gemm = problem.Get<Gemm>();
    ComputeProducts(GemmSource(gemm, PointersTo(inputs), results), PrecisionFor(gemm.type), watch);
  }
  GroupTolerance ToleranceOf(const Problem& problem, size_t) const override {
    return attune::ToleranceOf(SumOf(problem.Get<Gemm>()));
  }
  std::unique_ptr<ProductSource> Products(const Problem& problem, std::vector<EncodedValues> inputs,
                                          OneElement output) const override {
    return std::make_unique<GemmSource<EncodedValues, OneElement>>(problem.Get<Gemm>(),
                                                                   std::move(inputs), output);
  }
  SumEpilogue EpilogueOf(const Problem& problem) const override {
    const Gemm& gemm = problem.Get<Gemm>();
    return {std::abs(AlphaValue(gemm)), gemm.activation != Activation::kNone,
            IsInteger(gemm.c_type)};
  }
  std::vector<std::unique_ptr<SpecialValues>> SpecialValuesOf(
      const Problem& problem, const ReferenceData& data) const override {
    return attune::SpecialValuesOf(problem.Get<Gemm>(), data);
  }
};

}  // namespace

const Reference& GemmReference() {
  static const NeverDestroyed<GemmRef> reference{GemmRef()};
  return *reference;
}

}  // namespace attune
