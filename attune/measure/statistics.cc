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

// The largest r whose interval still covers with `confidence`, or r = 1. The probabilities are
// summed from the tail in logarithms, because 2^-n underflows from n = 1075 on.
RankInterval RankFor(size_t n, double confidence) {
  const double log_half = std::log(0.5);
  double log_choose = 0;  // log(n choose i)
  double below = 0;       // P(Binomial(n, 1/2) < r) for the r of the current turn.
  RankInterval best{1, 0};
  for (size_t r = 1; 2 * r <= n + 1; ++r) {
    const size_t i = r - 1;
    if (i > 0) log_choose += std::log(static_cast<double>(n - i + 1) / static_cast<double>(i));
    below += std::exp(log_choose + static_cast<double>(n) * log_half);
    const double coverage = std::max(0.0, 1 - 2 * below);
    if (r > 1 && coverage < confidence) break;
    best = {r, coverage};
    if (coverage < confidence) break;
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
