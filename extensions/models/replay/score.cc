#include "extensions/models/replay/score.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "extensions/models/replay/curve_fit.h"

namespace attune {
namespace {

// All from the methodology (score.h).
constexpr double kFirstShare = 0.01;
constexpr double kTargetShare = 0.95;
constexpr int kGridPoints = 1000;
// A share of the gap from the median to the optimum. In published spaces random search is at 0.05
// when its budget is over.
constexpr double kLeastGapShare = 0.01;
// How far outside of the grid evaluations still count for the curve, as a share of its ends.
constexpr double kMargin = 0.1;
constexpr double kMarginForFew = 0.25;  // Times repeats over evaluations, in addition.

double TargetOf(const std::vector<double>& times_ms, double share) {
  return times_ms.front() + (MedianValue(times_ms) - times_ms.front()) * (1 - share);
}

// Evaluations that random search needs to reach a time, by the rank of the time.
uint64_t EvaluationsTo(const std::vector<double>& times_ms, double target_ms) {
  const size_t count = times_ms.size();
  size_t worse = 0;
  while (times_ms[count - 1 - worse] > target_ms) ++worse;
  const auto needed = static_cast<uint64_t>(
      std::ceil(static_cast<double>(worse) / static_cast<double>(count + 1 - worse)));
  return std::max<uint64_t>(needed, 1);
}

// The cost of one evaluation for random search, which draws some failing configs beside each that
// works.
double MeanCost(const RecordedSpace& recorded) {
  double worked_ms = 0;
  double failed_ms = 0;
  double worked = 0;
  for (const RecordedTrial& trial : recorded.trials) {
    (trial.time_ms ? worked_ms : failed_ms) += trial.charged_ms();
    worked += trial.time_ms ? 1 : 0;
  }
  const double all = static_cast<double>(recorded.trials.size());
  // The mean of those that failed, times their share.
  return worked_ms / worked + failed_ms / all;
}

double MedianCost(const RecordedSpace& recorded) {
  std::vector<double> costs;
  for (const RecordedTrial& trial : recorded.trials) costs.push_back(trial.charged_ms());
  return MedianValue(std::move(costs));
}

// The time at the expected rank of the best of `draws`.
double ExpectedBest(const std::vector<double>& times_ms, double draws) {
  const double count = static_cast<double>(times_ms.size());
  const double worse = std::min(count - 1, std::nearbyint(draws * (count + 1) / (draws + 1)));
  return times_ms[times_ms.size() - 1 - static_cast<size_t>(worse)];
}

std::vector<double> BaselineOf(const ScoreBasis& basis, double mean_cost_ms) {
  std::vector<CurvePoint> steps;
  double last_draws = 0;
  for (const double at_ms : basis.grid_ms) {
    const double draws = std::nearbyint(std::max(at_ms / mean_cost_ms, 1.0));
    const bool is_last = at_ms == basis.grid_ms.back();
    if (draws == last_draws && !is_last) continue;
    if (!steps.empty() && steps.back().x == at_ms) continue;  // The budget is one evaluation.
    steps.push_back({at_ms, ExpectedBest(basis.times_ms, draws)});
    last_draws = draws;
  }
  return Pchip(steps, basis.grid_ms);
}

// The time from which fewer than half of the runs continue: the curve is flat after it.
double StoppingTime(const ScoreBasis& basis, const std::vector<ReplayLog>& logs) {
  std::vector<double> ends_ms;
  for (const ReplayLog& log : logs) {
    if (!log.empty()) ends_ms.push_back(log.back().after_ms);
  }
  std::sort(ends_ms.begin(), ends_ms.end());
  const auto next = std::upper_bound(ends_ms.begin(), ends_ms.end(), MedianValue(ends_ms));
  return next == ends_ms.end() ? basis.grid_ms.back() : *next;
}

std::vector<CurvePoint> RanksInGrid(const ScoreBasis& basis, const std::vector<ReplayLog>& logs) {
  size_t evaluations = 0;
  for (const ReplayLog& log : logs) evaluations += log.size();
  const double margin =
      kMargin + kMarginForFew * static_cast<double>(logs.size()) / static_cast<double>(evaluations);
  const double begin_ms = basis.grid_ms.front() * (1 - margin);
  const double end_ms = basis.grid_ms.back() * (1 + margin);
  std::vector<CurvePoint> points;
  for (const ReplayLog& log : logs) {
    for (const ReplayedTrial& trial : log) {
      if (!trial.best_ms || trial.after_ms < begin_ms || trial.after_ms > end_ms) continue;
      const auto rank =
          std::lower_bound(basis.times_ms.begin(), basis.times_ms.end(), *trial.best_ms) -
          basis.times_ms.begin();
      points.push_back({trial.after_ms, static_cast<double>(rank)});
    }
  }
  return points;
}

}  // namespace

double MeanValue(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double MedianValue(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ScoreBasis BasisOf(const RecordedSpace& recorded) {
  ScoreBasis basis;
  for (const RecordedTrial& trial : recorded.trials) {
    if (trial.time_ms) basis.times_ms.push_back(*trial.time_ms);
  }
  assert(!basis.times_ms.empty());
  std::sort(basis.times_ms.begin(), basis.times_ms.end());
  basis.target_ms = TargetOf(basis.times_ms, kTargetShare);
  basis.evaluations = EvaluationsTo(basis.times_ms, basis.target_ms);
  const double median_cost_ms = MedianCost(recorded);
  const auto first =
      static_cast<double>(EvaluationsTo(basis.times_ms, TargetOf(basis.times_ms, kFirstShare)));
  const double begin_ms = first * median_cost_ms;
  basis.budget_ms = static_cast<double>(basis.evaluations) * median_cost_ms;
  for (int i = 0; i < kGridPoints; ++i) {
    basis.grid_ms.push_back(begin_ms + (basis.budget_ms - begin_ms) * i / (kGridPoints - 1));
  }
  basis.grid_ms.back() = basis.budget_ms;
  basis.baseline_ms = BaselineOf(basis, MeanCost(recorded));
  const double reached_ms = TargetOf(basis.times_ms, 1 - kLeastGapShare);
  // The baseline never rises.
  const auto end = std::find_if(basis.baseline_ms.begin(), basis.baseline_ms.end(),
                                [&](double found_ms) { return found_ms <= reached_ms; });
  basis.baseline_ms.erase(end, basis.baseline_ms.end());
  basis.grid_ms.resize(basis.baseline_ms.size());
  return basis;
}

Status CheckComparable(const ScoreBasis& basis) {
  if (basis.budget_ms <= 0) {
    return InvalidArgument(
        "Trying a config took 0 ms in the median (compile_ms, verification_ms, benchmark_ms and "
        "framework_ms together), so that searchers have no budget. Record what it took; with 1 in "
        "one of these columns every evaluation counts the same.");
  }
  if (!basis.grid_ms.empty()) return Status::Ok();
  return InvalidArgument(
      fmt::format("Random search finds the least time ({} ms) of the {} configs that worked at "
                  "once, so that no searcher can be better. Replay a larger space.",
                  basis.optimum_ms(), basis.times_ms.size()));
}

std::vector<double> CurveOf(const ScoreBasis& basis, const std::vector<ReplayLog>& logs) {
  std::vector<CurvePoint> points = RanksInGrid(basis, logs);
  if (points.empty()) return std::vector<double>(basis.grid_ms.size(), basis.times_ms.back());
  const std::vector<double> ranks = Straight(FallingFit(std::move(points)), basis.grid_ms);
  const double stop_ms = StoppingTime(basis, logs);
  std::vector<double> curve_ms;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const bool stopped = basis.grid_ms[i] > stop_ms && !curve_ms.empty();
    curve_ms.push_back(stopped ? curve_ms.back()
                               : basis.times_ms[static_cast<size_t>(std::nearbyint(ranks[i]))]);
  }
  return curve_ms;
}

std::vector<double> ScoresOf(const ScoreBasis& basis, const std::vector<double>& curve_ms) {
  std::vector<double> scores;
  for (size_t i = 0; i < curve_ms.size(); ++i) {
    const double gap_ms = basis.baseline_ms[i] - basis.optimum_ms();
    scores.push_back((basis.baseline_ms[i] - curve_ms[i]) / gap_ms);
  }
  return scores;
}

bool ReachesTarget(const ScoreBasis& basis, const ReplayLog& log) {
  return std::any_of(log.begin(), log.end(), [&](const ReplayedTrial& trial) {
    return trial.after_ms <= basis.budget_ms && trial.best_ms && *trial.best_ms <= basis.target_ms;
  });
}

}  // namespace attune
