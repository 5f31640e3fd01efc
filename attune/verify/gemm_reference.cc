#include <cassert>
#include <cmath>
#include <numbers>

#include "attune/verify/problem_data.h"
#include "attune/verify/product.h"
#include "attune/verify/reference.h"

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

class GemmSource final : public ProductSource {
 public:
  GemmSource(const Gemm& gemm, std::span<const OperandValues> inputs, std::span<double> output)
      : gemm_(gemm),
        inputs_(inputs),
        alpha_(AlphaValue(gemm.alpha)),
        beta_(BetaValue(gemm.beta)),
        output_(output) {
    size_t next = 2;
    if (gemm.bias != Bias::kNone) bias_ = inputs[next++].data();
    if (gemm.beta != ScalarClass::kZero) initial_ = inputs[next++].data();
    assert(next == inputs.size());
  }

  Shape shape() const override { return {gemm_.batch_count, gemm_.m, gemm_.n, gemm_.k}; }

  void GatherA(int64_t which, Range ks, Range ms, double* panel,
               int64_t row_stride) const override {
    const bool transposed = gemm_.trans_a == Transpose::kYes;
    const double* a = inputs_[0].data() + which * gemm_.stride_a;
    const Strided matrix = {a, transposed ? 1 : gemm_.lda, transposed ? gemm_.lda : 1};
    Gather(matrix, ks, ms, panel, row_stride);
  }

  void GatherB(int64_t which, Range ks, Range ns, double* panel,
               int64_t row_stride) const override {
    const bool transposed = gemm_.trans_b == Transpose::kYes;
    const double* b = inputs_[1].data() + which * gemm_.stride_b;
    const Strided matrix = {b, transposed ? gemm_.ldb : 1, transposed ? 1 : gemm_.ldb};
    Gather(matrix, ks, ns, panel, row_stride);
  }

  void Store(int64_t which, Range ms, Range ns, const double* sums,
             int64_t row_stride) const override {
    for (int64_t n = ns.begin; n < ns.end; ++n) {
      for (int64_t m = ms.begin; m < ms.end; ++m) {
        const int64_t at = which * gemm_.stride_c + m + n * gemm_.ldc;
        double value = alpha_ * sums[(m - ms.begin) * row_stride + n - ns.begin];
        if (initial_ != nullptr) value += beta_ * initial_[at];
        if (bias_ != nullptr) value += bias_[gemm_.bias == Bias::kPerRow ? m : n];
        output_[static_cast<size_t>(at)] = Activate(gemm_.activation, value);
      }
    }
  }

 private:
  // A or B by its two indices: that of the sum, and its own.
  struct Strided {
    const double* values;
    int64_t k_stride, other_stride;
  };

  // Whichever index is contiguous in memory runs innermost: strided reads cost more than strided
  // writes.
  static void Gather(const Strided& matrix, Range ks, Range others, double* panel,
                     int64_t row_stride) {
    const int64_t k_stride = matrix.k_stride;
    const int64_t other_stride = matrix.other_stride;
    const double* from = matrix.values + ks.begin * k_stride + others.begin * other_stride;
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
  std::span<const OperandValues> inputs_;
  double alpha_;
  double beta_;
  std::span<double> output_;
  const double* bias_ = nullptr;
  const double* initial_ = nullptr;
};

}  // namespace

void ComputeGemmReference(const Gemm& gemm, std::span<const OperandValues> inputs,
                          std::span<double> output, WorkWatch& watch) {
  const bool widest = gemm.type == DataType::kF64;
  ComputeProducts(GemmSource(gemm, inputs, output),
                  widest ? Precision::kDoubleDouble : Precision::kDouble, watch);
}

}  // namespace attune
