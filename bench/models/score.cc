#include "bench/models/score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "attune/base/random.h"

namespace attune::bench {
namespace {

// Positions from the quickest on.
std::vector<size_t> OrderOf(const Times& times) {
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return times[a] < times[b]; });
  return order;
}

}  // namespace

double ErrorScore::Mape() const {
  return 100 * std::accumulate(relative.begin(), relative.end(), 0.0) /
         static_cast<double>(relative.size());
}

double ErrorScore::Rmspe() const {
  double squares = 0;
  for (const double error : relative) squares += error * error;
  return 100 * std::sqrt(squares / static_cast<double>(relative.size()));
}

double ErrorScore::Median() const {
  std::vector<double> sorted = relative;
  std::sort(sorted.begin(), sorted.end());
  return 100 * sorted[sorted.size() / 2];
}

double ErrorScore::ShareWithin(double error) const {
  const auto count =
      std::count_if(relative.begin(), relative.end(), [&](double x) { return x <= error; });
  return 100 * static_cast<double>(count) / static_cast<double>(relative.size());
}

void PickScore::Add(double chosen_ms, double best_ms) {
  const double regret = chosen_ms / best_ms;
  ++picks;
  wrong += regret > kWrongAbove ? 1 : 0;
  log_regret += std::log(regret);
}

double PickScore::GeometricRegret() const {
  return std::exp(log_regret / static_cast<double>(picks));
}

double BestOfTop(const Times& predicted, const Times& measured, size_t k) {
  const std::vector<size_t> order = OrderOf(predicted);
  double best = measured[order[0]];
  for (size_t i = 1; i < std::min(k, order.size()); ++i) best = std::min(best, measured[order[i]]);
  return best;
}

Split SplitProblems(size_t problems, double held_out_share, uint64_t seed) {
  std::vector<size_t> order(problems);
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(seed);
  random.Shuffle(std::span(order));
  const auto held_out = order.begin() + std::lround(held_out_share * static_cast<double>(problems));
  return {{held_out, order.end()}, {order.begin(), held_out}};
}

std::vector<Sample> SamplesOf(const Recording& recording, std::span<const size_t> problems) {
  std::vector<Sample> samples;
  for (const size_t i : problems) {
    for (const Sample& sample : recording.problems[i].samples) samples.push_back(sample);
  }
  return samples;
}

Times MeasuredTimes(const RecordedProblem& problem) {
  Times times;
  for (const Sample& sample : problem.samples) times.push_back(sample.time_ms);
  return times;
}

void ShuffleTimes(std::vector<Sample>& samples, uint64_t seed) {
  std::map<std::string, std::vector<size_t>> by_algorithm;
  for (size_t i = 0; i < samples.size(); ++i) by_algorithm[samples[i].row.algorithm].push_back(i);
  Random random(seed);
  std::vector<double> times;
  for (const Sample& sample : samples) times.push_back(sample.time_ms);
  for (auto& [algorithm, positions] : by_algorithm) {
    std::vector<size_t> shuffled = positions;
    random.Shuffle(std::span(shuffled));
    for (size_t i = 0; i < positions.size(); ++i) {
      Sample& sample = samples[positions[i]];
      const double ratio = times[shuffled[i]] / sample.time_ms;
      sample.time_ms *= ratio;
      for (double& time_ms : sample.kernel_times_ms) time_ms *= ratio;
    }
  }
}

}  // namespace attune::bench
