#include "attune/problem/sum_tolerance.h"

#include <cmath>

#include "attune/base/element.h"

namespace attune {
namespace {

// |a||b| of two numbers uniform in [-1, 1] is 1/4 on average.
constexpr double kMeanProduct = 0.25;
// Recursive summation of such products has an error of standard deviation 0.09 u k, and the largest
// of 1e9 outputs lies 6 deviations out, at 0.57 u k. This allows 1.0 u k.
constexpr double kSumLambda = 4;
// A large sum has large partial sums and roundings: growing evenly to r, its error has a deviation
// of at most u |r| sqrt(k) / 3. This allows six of these. Without it, about one in 1e6 right
// outputs fails.
constexpr double kLargeSumLambda = 2;
// Errors of u that do not depend on k: products without fused multiply-add, borders of blocks.
constexpr double kExtraTerms = 16;
// Error of an activation function from a mathematics library or a polynomial, in units of u.
constexpr double kActivationError = 64;

// Tensor cores add blocks of products to a sum of f32 and truncate bits that it cannot hold (Fasi,
// Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science
// 7, 2021): up to 2 u of the sum each time, u on average, always towards zero. Sums of such
// products have a deviation of sqrt(k) / 3, and the path of the worst one lies at twice that. The
// smallest blocks have this many products.
constexpr double kTensorBlock = 8;
constexpr double kWorstPath = 2.0 / 3;

// Tensor cores of Hopper truncate 32 products of f8 and the sum that they are added to, 13 bits
// behind the point of the largest ("DeepSeek-V3 Technical Report", 2024, 3.3.2: some 14 bits are
// kept). Without fast accumulation such a sum is added in f32 after four of these steps. A step has
// 33 uniform errors of 2^-13 times 4, the usual size of the sum: a deviation of 13 u, and of 2.4 u
// sqrt(k) for k / 128 sums of four steps. Six of these, rounded up.
constexpr double kF8SumRoundoff = 0x1p-9;

// True if a tensor core can multiply the inputs: they are narrower than f32.
bool MayBeTensorCore(const ProductSum& sum) {
  return SizeBytes(sum.input) < sizeof(float) || sum.math != MathMode::kStrict;
}

// True if tensor cores keep the sum to fewer bits than f32 has.
bool IsOfF8(const ProductSum& sum) {
  return sum.input == DataType::kF8E4M3 || sum.input == DataType::kF8E5M2;
}

double InputRoundoff(const ProductSum& sum) {
  if (sum.math == MathMode::kTf32) return 0x1p-11;
  return sum.math == MathMode::kBf16 ? 0x1p-8 : 0;
}

}  // namespace

Tolerance ToleranceOf(const ProductSum& sum) {
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

}  // namespace attune
