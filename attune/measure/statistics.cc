#include "attune/measure/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace attune {
namespace {

std::vector<double> Sorted(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double MedianOfSorted(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

struct RankInterval {
  size_t rank = 1;  // r: the interval is [x(r), x(n + 1 - r)], 1-based.
  double confidence = 0;
};

// The largest r with an interval that still covers with `confidence`, or r = 1. In long double,
// because 2^-n underflows a double from n = 1075 on.
RankInterval RankFor(size_t n, double confidence) {
  long double term = std::ldexp(1.0L, -static_cast<int>(n));  // P(Binomial(n, 1/2) = r - 1)
  long double below = 0;                                      // P(Binomial(n, 1/2) < r)
  RankInterval best;
  for (size_t r = 1; 2 * r <= n + 1; ++r) {
    if (r > 1) term *= static_cast<long double>(n - r + 2) / static_cast<long double>(r - 1);
    below += term;
    const double coverage = std::max(0.0, static_cast<double>(1 - 2 * below));
    if (r > 1 && coverage < confidence) break;
    best = {r, coverage};
  }
  return best;
}

Interval IntervalOfSorted(const std::vector<double>& sorted, double confidence) {
  const RankInterval ranks = RankFor(sorted.size(), confidence);
  return {sorted[ranks.rank - 1], sorted[sorted.size() - ranks.rank], ranks.confidence};
}

}  // namespace

double Median(std::span<const double> samples) {
  assert(!samples.empty());
  return MedianOfSorted(Sorted(samples));
}

Interval MedianInterval(std::span<const double> samples, double confidence) {
  assert(!samples.empty() && confidence > 0 && confidence < 1);
  return IntervalOfSorted(Sorted(samples), confidence);
}

size_t MinSamplesFor(double confidence) {
  assert(confidence > 0 && confidence < 1);
  size_t n = 2;
  while (RankFor(n, confidence).confidence < confidence) ++n;
  return n;
}

RatioEstimate PairedRatio(std::span<const double> baseline_ns, std::span<const double> candidate_ns,
                          double confidence) {
  const size_t pairs = std::min(baseline_ns.size(), candidate_ns.size());
  assert(pairs > 0);
  std::vector<double> log_ratios(pairs);
  for (size_t i = 0; i < pairs; ++i) {
    assert(baseline_ns[i] > 0 && candidate_ns[i] > 0);
    log_ratios[i] = std::log(baseline_ns[i] / candidate_ns[i]);
  }
  std::sort(log_ratios.begin(), log_ratios.end());
  const Interval interval = IntervalOfSorted(log_ratios, confidence);
  return {std::exp(MedianOfSorted(log_ratios)), std::exp(interval.low), std::exp(interval.high),
          interval.confidence};
}

Measurement MeasurementOf(std::vector<double> samples_ns, CacheState cache, double confidence) {
  if (samples_ns.size() > Measurement::kMaxSamples) samples_ns.resize(Measurement::kMaxSamples);
  const std::vector<double> sorted = Sorted(samples_ns);
  const Interval interval = IntervalOfSorted(sorted, confidence);
  Measurement measurement;
  measurement.median_ns = MedianOfSorted(sorted);
  measurement.low_ns = interval.low;
  measurement.high_ns = interval.high;
  measurement.confidence = interval.confidence;
  measurement.cache = cache;
  measurement.samples_ns = std::move(samples_ns);
  return measurement;
}

}  // namespace attune
