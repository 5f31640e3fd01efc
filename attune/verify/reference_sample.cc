#include "attune/verify/reference_sample.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "attune/base/parallel_for.h"
#include "attune/base/product.h"
#include "attune/base/random.h"
#include "attune/problem/reference.h"

namespace attune {
namespace {

constexpr size_t kMostSampled = 64;
// For all sampled elements together: some tenths of a second on one core.
constexpr int64_t kMostTerms = 1 << 24;
constexpr double kRoundOff = 0x1p-53;
// Elements in each parallel task.
constexpr size_t kSlice = 1 << 18;

std::unique_ptr<ProductSource> SourceOf(const Problem& problem,
                                        std::span<const std::span<const std::byte>> inputs,
                                        OneElement output) {
  const std::vector<Operand> operands = Operands(problem);
  std::vector<EncodedValues> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (inputs[i].empty()) continue;
    values.emplace_back(operands[i].tensor.type, inputs[i].data());
  }
  return problem.op().reference()->Products(problem, std::move(values), output);
}

// The corners, where index errors show first, and others from anywhere.
std::vector<ElementPlace> PlacesOf(const ProductSource::Shape& shape, uint64_t seed) {
  std::vector<ElementPlace> places;
  for (const int64_t which : {int64_t{0}, shape.count - 1}) {
    for (const int64_t m : {int64_t{0}, shape.m - 1}) {
      for (const int64_t n : {int64_t{0}, shape.n - 1}) places.push_back({which, m, n});
    }
  }
  Random random(seed);
  const auto below = [&](int64_t extent) {
    return static_cast<int64_t>(random.Below(static_cast<uint64_t>(extent)));
  };
  const auto affordable = static_cast<size_t>(kMostTerms / std::max<int64_t>(shape.k, 1));
  while (places.size() < std::min(kMostSampled, affordable)) {
    const int64_t which = below(shape.count);
    const int64_t m = below(shape.m);
    places.push_back({which, m, below(shape.n)});
  }
  return places;
}

// Tolerance around `exact`, which the epilogue computed from `sum`.
class RoundingBound {
 public:
  RoundingBound(const Problem& problem, int64_t terms)
      : is_compensated_(PrecisionFor(Operands(problem).front().tensor.type) ==
                        Precision::kDoubleDouble),
        terms_round_off_(static_cast<double>(terms) * kRoundOff),
        epilogue_(problem.op().reference()->EpilogueOf(problem)) {}

  double Of(const ElementSum& sum, double exact) const {
    if (epilogue_.is_exact) return 0;
    // Error bounds of recursive summation, in any order; and of the compensated dot product (Ogita,
    // Rump and Oishi 2005, proposition 5.5).
    const double of_sum = is_compensated_ ? kRoundOff * std::abs(sum.sum) +
                                                terms_round_off_ * terms_round_off_ * sum.magnitude
                                          : terms_round_off_ * sum.magnitude;
    // A multiplication and two additions follow, with a C and a bias within [-1, 1].
    const double linear =
        epilogue_.factor * of_sum + 4 * kRoundOff * (epilogue_.factor * std::abs(sum.sum) + 2);
    // No activation is steeper than 1.13, and those of libraries are off by a few units in the last
    // place of their argument or result.
    const double activation = epilogue_.is_activated ? 32 * kRoundOff * (1 + std::abs(exact)) : 0;
    return 2 * linear + activation;
  }

 private:
  const bool is_compensated_;
  const double terms_round_off_;
  const SumEpilogue epilogue_;
};

// Checks that there are as many numbers as elements, and nothing but NaN in the gaps: an omitted
// element shows.
Status CheckCounts(const Problem& problem, std::span<const double> reference) {
  std::atomic<int64_t> finite = 0;
  std::atomic<int64_t> nan = 0;
  ParallelFor(static_cast<int64_t>((reference.size() + kSlice - 1) / kSlice), [&](int64_t slice) {
    const size_t first = static_cast<size_t>(slice) * kSlice;
    int64_t finite_here = 0;
    int64_t nan_here = 0;
    for (const double value :
         reference.subspan(first, std::min(kSlice, reference.size() - first))) {
      finite_here += std::isfinite(value) ? 1 : 0;
      nan_here += std::isnan(value) ? 1 : 0;
    }
    finite += finite_here;
    nan += nan_here;
  });
  const int64_t elements = ElementCount(Operands(problem).back().tensor);
  const auto gaps = static_cast<int64_t>(reference.size()) - elements;
  if (finite == elements && nan == gaps) return Status::Ok();
  return DataLoss(
      fmt::format("It has {} finite numbers and {} NaN where there are {} elements and {} gaps.",
                  finite.load(), nan.load(), elements, gaps));
}

}  // namespace

Status CheckReference(const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                      std::span<const double> reference, uint64_t seed) {
  ATTUNE_RETURN_IF_ERROR(CheckCounts(problem, reference));
  const auto products = SourceOf(problem, inputs, {});
  if (products == nullptr) {
    return DataLoss("Only references that are sums of products can be checked by a sample.");
  }
  const auto shape = products->shape();
  const std::vector<ElementPlace> places = PlacesOf(shape, seed);
  const RoundingBound bound(problem, shape.k);
  std::vector<Status> found(places.size());
  ParallelFor(static_cast<int64_t>(places.size()), [&](int64_t i) {
    const ElementPlace& place = places[static_cast<size_t>(i)];
    ReferenceElement right;
    const auto source = SourceOf(problem, inputs, {&right});
    const ElementSum sum = SumOfElement(*source, place);
    source->Store(place.which, {place.m, place.m + 1}, {place.n, place.n + 1}, &sum.sum, 1);
    const double value = reference[static_cast<size_t>(right.offset)];
    const double allowed = bound.Of(sum, right.value);
    if (std::abs(value - right.value) <= allowed) return;
    found[static_cast<size_t>(i)] = DataLoss(fmt::format(
        "Element {} is {:.17g}; the processor computes {:.17g}, and rounding explains {:.3g}.",
        right.offset, value, right.value, allowed));
  });
  for (Status& status : found) ATTUNE_RETURN_IF_ERROR(status);
  return Status::Ok();
}

}  // namespace attune
