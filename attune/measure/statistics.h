// Robust statistics of timing samples: medians, and confidence intervals that assume no
// distribution.
//
// Timings have a floor, a long upper tail and spikes of several times the usual value. The mean
// follows the spikes. The minimum follows lucky shots (a frequency boost, a neighbour that happened
// to be idle), which differ from one candidate to the next by more than the candidates do. The
// median moves with neither, and its interval follows from the binomial distribution alone,
// whatever the noise looks like.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attune/trial/trial.h"

namespace attune {

// The middle value, or the mean of the two middle ones. REQUIRES: samples is not empty.
double Median(std::span<const double> samples);

struct Interval {
  double low = 0;
  double high = 0;
  double confidence = 0;  // Probability that [low, high] covers the median of the distribution.

  friend bool operator==(const Interval&, const Interval&) = default;
};

// The narrowest symmetric pair of order statistics x(r), x(n+1-r) that covers the median with at
// least `confidence`: the coverage is 1 - 2 P(Binomial(n, 1/2) < r) (David and Nagaraja, "Order
// Statistics", 3rd edition, 7.1). With too few samples for that (fewer than 8 for 0.99) it is
// [minimum, maximum] and `confidence` is its coverage: 1 - 2^(1-n), 0 for one sample. REQUIRES:
// samples is not empty, confidence in (0, 1).
Interval MedianInterval(std::span<const double> samples, double confidence);

// Fewest samples for which MedianInterval reaches `confidence`.
size_t MinSamplesFor(double confidence);

// How much faster one candidate is than another: 2 is twice as fast. `low` and `high` as in
// Interval.
struct RatioEstimate {
  double ratio = 1;
  double low = 0;
  double high = 0;
  double confidence = 0;

  friend bool operator==(const RatioEstimate&, const RatioEstimate&) = default;
};

// Speed-up of the candidate over the baseline: the median of baseline_ns[i] / candidate_ns[i], with
// its interval. Sample i of both is of the same round, so that a disturbance of a whole round
// (drift of the clock frequency, a busy neighbour) cancels inside each pair; a ratio of two medians
// would keep it. The median of the ratios is the exponential of the median of the log-ratios, so
// swapping the two gives the reciprocal. Only the first min(n, m) pairs count. REQUIRES: both are
// not empty and positive.
RatioEstimate PairedRatio(std::span<const double> baseline_ns, std::span<const double> candidate_ns,
                          double confidence);

// The samples with their median and its interval; the first kMaxSamples count.
// REQUIRES: samples_ns is not empty.
Measurement MeasurementOf(std::vector<double> samples_ns, CacheState cache, double confidence);

}  // namespace attune
