// The score of a searcher on a recorded space: the aggregate score of the methodology of Willemsen
// et al., "A methodology for comparing optimization algorithms for auto-tuning", Future Generation
// Computer Systems 2024, doi 10.1016/j.future.2024.05.021. 0 is random search, 1 the optimum at
// once; worse than random is below 0, without a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "extensions/models/replay/recorded_space.h"

namespace attune {

// One evaluation of a replayed run.
struct ReplayedTrial {
  uint64_t index = 0;
  double after_ms = 0;            // Charged from the start to its end.
  std::optional<double> best_ms;  // The minimum so far; nothing before a success.

  friend bool operator==(const ReplayedTrial&, const ReplayedTrial&) = default;
};
using ReplayLog = std::vector<ReplayedTrial>;

// The difficulty of a space for random search, which sets how long searchers are compared.
struct ScoreBasis {
  std::vector<double> times_ms;  // For the configs that worked, ascending.
  double target_ms = 0;          // 95 % of the way from the median to the optimum.
  uint64_t evaluations = 0;      // By which random search reaches it.
  double budget_ms = 0;          // The cost of that many at the median.
  // Points of time at which searchers are compared. They end where random search has come within a
  // hundredth of the way from the median to the optimum, so that the remaining gap exceeds rounding
  // errors. Empty if it is there at once.
  std::vector<double> grid_ms;
  std::vector<double> baseline_ms;  // Best of random search by then, calculated.

  double optimum_ms() const { return times_ms.front(); }
};
ScoreBasis BasisOf(const RecordedSpace& recorded);

// kInvalidArgument, with the reason, if searchers cannot be compared on the space: no trial took
// time, or random search finds the optimum at once.
Status CheckComparable(const ScoreBasis& basis);

// The mean over the repeats of the best times found, as a time of the space, at each point of the
// grid: an isotonic regression over the ranks of all repeats. REQUIRES: CheckComparable, and at
// least one log with a success.
std::vector<double> CurveOf(const ScoreBasis& basis, const std::vector<ReplayLog>& logs);

// The score at each point of the grid, and the mean over them.
std::vector<double> ScoresOf(const ScoreBasis& basis, const std::vector<double>& curve_ms);
double MeanValue(const std::vector<double>& values);
// REQUIRES: at least one value.
double MedianValue(std::vector<double> values);

// True if the run found a time up to the target within the budget.
bool ReachesTarget(const ScoreBasis& basis, const ReplayLog& log);

}  // namespace attune
