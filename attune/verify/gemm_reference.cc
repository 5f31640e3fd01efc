#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include "attune/verify/problem_data.h"
#include "attune/verify/product.h"
#include "attune/verify/reference.h"
#include "attune/verify/reference_sample.h"

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

  // Whichever index is contiguous in memory runs innermost: strided reads cost more than strided
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
  size_t bias_ = 0;  // Of inputs_; 0: none.
  size_t initial_ = 0;
};

}  // namespace

void ComputeGemmReference(const Gemm& gemm, std::span<const OperandValues> inputs,
                          std::span<double> output, WorkWatch& watch) {
  ComputeProducts(GemmSource(gemm, PointersTo(inputs), output), PrecisionFor(gemm.type), watch);
}

std::unique_ptr<ProductSource> SampledGemm(const Gemm& gemm, std::vector<EncodedValues> inputs,
                                           OneElement output) {
  return std::make_unique<GemmSource<EncodedValues, OneElement>>(gemm, std::move(inputs), output);
}

}  // namespace attune
