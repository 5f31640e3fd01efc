// Runs searchers on recorded spaces.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "attune/base/status.h"
#include "attune/search/prior.h"
#include "attune/search/searcher.h"
#include "attune/space/config_space.h"
#include "extensions/models/replay/recorded_space.h"
#include "extensions/models/replay/score.h"

namespace attune {

// Asks `searcher` for one config at a time and reports the recorded result to it, until `until_ms`
// were charged or it is done. The log contains every evaluation, failed ones too. kInternal if the
// searcher asks for a config twice, or for nothing although it is not done.
Result<ReplayLog> Replay(const RecordedSpace& recorded, Searcher& searcher, double until_ms);

struct ReplayResult {
  ScoreBasis basis;
  std::vector<ReplayLog> logs;     // One for each repeat.
  std::vector<double> curve_ms;    // See CurveOf.
  std::vector<double> scores;      // At each point of the grid.
  std::vector<double> run_scores;  // One per repeat.
  double score = 0;                // The mean of `scores`.
  double share_reaching_target = 0;
};

// The times that `elsewhere` recorded for the configs of `space`; none for others.
TimesElsewhere TimesOf(const RecordedSpace& elsewhere, const ConfigSpace& space);

// Makes a new searcher for each repeat, so that no run learns from another, with its seed and the
// budget in the options.
using SearcherForRun = std::function<Result<std::unique_ptr<Searcher>>(const SearcherOptions&)>;

// Repeats with the seeds 1 to `repeats`, each until slightly after the budget. kInvalidArgument
// from CheckComparable. REQUIRES: repeats > 0.
Result<ReplayResult> ReplayRepeatedly(const RecordedSpace& recorded, const SearcherForRun& make,
                                      int repeats);

}  // namespace attune
