#include "attune/measure/decision.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attune/measure/rounds.h"

namespace attune {
namespace {

// With fewer samples than the confidence takes, a finalist wins only if at least three pairs, and
// each of them, show it faster by this factor. For launches of seconds: a dozen rounds are a waste
// to learn that 1 s beats 3 s. Equal candidates pass with the cube of the probability that a sample
// is off by a quarter: 1e-3 if every tenth is.
constexpr double kGrossRatio = 1.25;
constexpr size_t kGrossPairs = 3;

RatioEstimate SpeedupOf(const Measurement& baseline, const Measurement& finalist,
                        double confidence) {
  return PairedRatio(baseline.samples_ns, finalist.samples_ns, confidence);
}

bool Beats(const RatioEstimate& speedup, size_t pairs, double margin, double confidence) {
  if (speedup.confidence >= confidence) return speedup.low >= 1 + margin;
  return pairs >= kGrossPairs && speedup.low >= std::max(kGrossRatio, 1 + margin);
}

// As Decision::doubt.
double DoubtAbout(const Measurement& leader, std::span<const Measurement> others,
                  double confidence) {
  double doubt = 0;
  for (const Measurement& other : others) {
    if (&other == &leader) continue;
    const RatioEstimate speedup = SpeedupOf(leader, other, confidence);
    if (speedup.confidence < confidence) return std::numeric_limits<double>::infinity();
    doubt = std::max(doubt, speedup.high);
  }
  return doubt;
}

}  // namespace

double FinalConfidence(double confidence) { return 1 - (1 - confidence) / kFinalLooks; }

Decision Decide(const Measurement& default_measurement, std::span<const Measurement> finalists,
                double margin, double confidence) {
  assert(margin >= 0 && confidence > 0 && confidence < 1);
  Decision decision;
  if (finalists.empty()) {
    decision.settled = true;
    return decision;
  }
  const double each = 1 - (1 - confidence) / static_cast<double>(finalists.size());
  size_t best = 0;
  std::pair<bool, double> best_rank;
  for (size_t i = 0; i < finalists.size(); ++i) {
    const RatioEstimate speedup = SpeedupOf(default_measurement, finalists[i], each);
    const size_t pairs =
        std::min(default_measurement.samples_ns.size(), finalists[i].samples_ns.size());
    // Candidates that beat the default come first; then the estimate counts.
    const std::pair rank(Beats(speedup, pairs, margin, each), speedup.ratio);
    if (i > 0 && rank <= best_rank) continue;
    best = i;
    best_rank = rank;
    decision.speedup = speedup;
  }
  if (best_rank.first) decision.winner = best;
  const Measurement& leader = decision.winner ? finalists[*decision.winner] : default_measurement;
  decision.doubt = DoubtAbout(leader, finalists, each);
  decision.settled = decision.doubt < 1 + margin;
  // A winner by the rule for gross differences is not certain to beat even the default.
  if (decision.winner && decision.speedup.confidence < each) {
    decision.doubt = std::numeric_limits<double>::infinity();
  }
  return decision;
}

std::vector<Finalist> SelectFinalists(const RaceResult& race, const Entrants& entrants,
                                      double margin, size_t max_count) {
  // Possible error of an estimate from too few pairs for an interval.
  constexpr double kUnknownFactor = 1.2;
  std::vector<size_t> order;
  for (size_t index = 0; index < race.entries.size(); ++index) {
    const RaceEntry& entry = race.entries[index];
    if (index == entrants.default_index || entry.measurement() == nullptr) continue;
    if (entry.dropped_at_round.has_value()) continue;
    const double optimistic =
        std::max(entry.speedup.high,
                 entry.speedup.confidence < 0.9 ? entry.speedup.ratio * kUnknownFactor : 0);
    if (optimistic >= 1 + margin) order.push_back(index);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return race.entries[a].speedup.ratio > race.entries[b].speedup.ratio;
  });
  if (order.size() > max_count) order.resize(max_count);
  std::vector<Finalist> finalists;
  for (const size_t index : order) finalists.push_back({index, race.entries[index].launches});
  return finalists;
}

}  // namespace attune
