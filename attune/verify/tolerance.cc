#include "attune/verify/tolerance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <variant>

#include "attune/problem/own_kernel.h"
#include "attune/verify/element.h"
#include "attune/verify/problem_data.h"

namespace attune {
namespace {

// |a||b| of two numbers uniform in [-1, 1] is 1/4 on average.
constexpr double kMeanProduct = 0.25;
// Recursive summation of such products has an error of standard deviation 0.09 u k, and the largest
// of 1e9 outputs lies 6 deviations out, at 0.57 u k. This allows 1.0 u k.
constexpr double kSumLambda = 4;
// Where the sum itself is large, its partial sums were too, and so was every rounding: growing
// evenly to r it gathers a deviation of at most u |r| sqrt(k) / 3. Six of these. Without this, one
// of some 1e6 right outputs is refused.
constexpr double kLargeSumLambda = 2;
// Terms that are off by u each whatever k is: products without fused multiply-add, block borders.
constexpr double kExtraTerms = 16;
// F(4x4, 3x3) loses about 10 times what direct summation loses (Lavin and Gray, table 6, and our
// own test with k from 9 to 4608).
constexpr double kWinogradGrowth = 16;
// Error of an activation function from a mathematics library or a polynomial, in units of u.
constexpr double kActivationError = 64;

// Tensor cores add blocks of products to a sum of f32 and cut off what it does not hold (Fasi,
// Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science
// 7, 2021): up to 2 u of the sum each time, u on average, always towards zero. Sums of such
// products have a deviation of sqrt(k) / 3, and the path of the worst one lies at twice that. The
// smallest blocks have this many products.
constexpr double kTensorBlock = 8;
constexpr double kWorstPath = 2.0 / 3;

// Of products of f8, those of Hopper cut each of 32 and the sum that they are added to off 13 bits
// behind the point of the largest ("DeepSeek-V3 Technical Report", 2024, 3.3.2: some 14 bits are
// kept). Without fast accumulation such a sum is added in f32 after four of these steps. A step is
// off by 33 uniform errors of 2^-13 times 4, the usual size of the sum: a deviation of 13 u, and of
// 2.4 u sqrt(k) for k / 128 sums of four steps. Six of these, rounded up.
constexpr double kF8SumRoundoff = 0x1p-9;

struct Sum {
  double k = 1;
  double growth = 1;
  double alpha = 1;
  // Largest |beta C + bias|: what may come after a rounding of the sum. 0 means one rounding.
  double added = 0;
  DataType input = DataType::kF32;
  DataType output = DataType::kF32;
  MathMode math = MathMode::kStrict;
  bool activated = false;
};

Sum SumOf(const Gemm& gemm) {
  Sum sum;
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

// Whether a library may compute `conv` by Winograd's algorithm: two filter extents of 3 or more, no
// stride, no dilation. Not in f64, where nobody does.
bool MayBeWinograd(const Conv& conv) {
  if (conv.type == DataType::kF64 || (conv.groups > 1 && conv.groups == conv.in_channels))
    return false;
  const bool unit = conv.stride == Spatial{1, 1, 1} && conv.dilation == Spatial{1, 1, 1};
  return unit && std::count_if(conv.filter.begin(), conv.filter.end(),
                               [](int64_t extent) { return extent >= 3; }) >= 2;
}

Sum SumOf(const Conv& conv) {
  Sum sum;
  sum.k = static_cast<double>(ReductionLength(Problem(conv)));
  sum.growth = MayBeWinograd(conv) ? kWinogradGrowth : 1;
  sum.added = conv.bias ? 1 : 0;
  sum.input = sum.output = conv.type;
  sum.math = conv.math;
  return sum;
}

// Whether a tensor core may multiply: it takes inputs narrower than f32.
bool MayBeTensorCore(const Sum& sum) {
  return SizeBytes(sum.input) < sizeof(float) || sum.math != MathMode::kStrict;
}

// Whether a sum is kept to fewer bits than f32 has.
bool IsOfF8(const Sum& sum) {
  return sum.input == DataType::kF8E4M3 || sum.input == DataType::kF8E5M2;
}

double InputRoundoff(const Sum& sum) {
  if (sum.math == MathMode::kTf32) return 0x1p-11;
  return sum.math == MathMode::kBf16 ? 0x1p-8 : 0;
}

Tolerance ToleranceFor(const Sum& sum) {
  // Nothing is rounded.
  if (IsInteger(sum.output)) return {};
  // Strict mode accumulates in f32 or wider; f64 inputs in f64.
  const double u = UnitRoundoff(sum.input == DataType::kF64 ? DataType::kF64 : DataType::kF32);
  const double u_output = UnitRoundoff(sum.output);
  Tolerance tolerance;
  tolerance.absolute =
      sum.alpha * kSumLambda * kMeanProduct * u * sum.growth * (sum.k + kExtraTerms);
  if (MayBeTensorCore(sum)) {
    tolerance.absolute +=
        sum.alpha * u * sum.growth * (sum.k / kTensorBlock) * kWorstPath * std::sqrt(sum.k);
  }
  if (IsOfF8(sum)) tolerance.absolute += sum.alpha * kF8SumRoundoff * std::sqrt(sum.k);
  // Rounded inputs make independent errors in k products: a random walk of deviation 0.2 u each.
  tolerance.absolute += sum.alpha * 2 * InputRoundoff(sum) * std::sqrt(sum.k);
  // One rounding to the output type, or two, the first of them before something was added.
  const int roundings = sum.added > 0 ? 2 : 1;
  tolerance.relative =
      roundings * u_output + 2 * u + kLargeSumLambda * u * sum.growth * std::sqrt(sum.k);
  tolerance.absolute += sum.added * (u_output + 2 * u);
  if (sum.activated) tolerance.absolute += kActivationError * u;
  return tolerance;
}

}  // namespace

double Tolerance::Of(double reference) const { return absolute + relative * std::abs(reference); }

Tolerance ToleranceOf(const Problem& problem) {
  if (const auto* gemm = std::get_if<Gemm>(&problem)) return ToleranceFor(SumOf(*gemm));
  if (const auto own = OwnKernelOf(problem); own.ok()) {
    return {own->absolute_tolerance, own->relative_tolerance};
  }
  return ToleranceFor(SumOf(std::get<Conv>(problem)));
}

}  // namespace attune
