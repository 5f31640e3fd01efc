#include "extensions/models/replay/replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace attune {
namespace {

// Evaluations after the budget still count for the end of the curve (see score.cc).
constexpr double kBehindBudget = 1.15;
constexpr double kNsPerMs = 1e6;

}  // namespace

Result<ReplayLog> Replay(const RecordedSpace& recorded, Searcher& searcher, double until_ms) {
  ReplayLog log;
  std::vector<bool> asked(recorded.trials.size(), false);
  ReplayedTrial now;
  while (now.after_ms < until_ms && !searcher.Done()) {
    const std::vector<uint64_t> indices = searcher.Ask(1);
    if (indices.size() != 1) {
      return Internal(
          fmt::format("The searcher asked for {} configs, where 1 was due.", indices.size()));
    }
    now.index = indices[0];
    if (now.index >= asked.size() || asked[now.index]) {
      return Internal(fmt::format("The searcher asked for config {} of {} again, or out of range.",
                                  now.index, asked.size()));
    }
    asked[now.index] = true;
    const RecordedTrial& trial = recorded.trials[now.index];
    now.after_ms += trial.charged_ms();
    if (trial.time_ms) now.best_ms = std::min(*trial.time_ms, now.best_ms.value_or(*trial.time_ms));
    log.push_back(now);
    Answer answer;
    answer.cost_ns = trial.charged_ms() * kNsPerMs;
    if (trial.time_ms) answer.time_ns = *trial.time_ms * kNsPerMs;
    searcher.Tell(now.index, answer);
  }
  return log;
}

TimesElsewhere TimesOf(const RecordedSpace& elsewhere, const ConfigSpace& space) {
  TimesElsewhere times;
  for (uint64_t index = 0; index < elsewhere.trials.size(); ++index) {
    const std::optional<uint64_t> here = space.IndexOf(elsewhere.space.At(index));
    if (!here.has_value()) continue;
    TrialElsewhere trial{*here, elsewhere.trials[index].time_ms};
    if (trial.time_ns.has_value()) *trial.time_ns *= kNsPerMs;
    times.push_back(trial);
  }
  return times;
}

Result<ReplayResult> ReplayRepeatedly(const RecordedSpace& recorded, const SearcherForRun& make,
                                      int repeats) {
  ReplayResult result;
  result.basis = BasisOf(recorded);
  ATTUNE_RETURN_IF_ERROR(CheckComparable(result.basis));
  int reached = 0;
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    ATTUNE_ASSIGN_OR_RETURN(const auto searcher, make({.seed = static_cast<uint64_t>(repeat),
                                                       .evaluations = result.basis.evaluations}));
    ATTUNE_ASSIGN_OR_RETURN(ReplayLog log,
                            Replay(recorded, *searcher, result.basis.budget_ms * kBehindBudget));
    if (ReachesTarget(result.basis, log)) ++reached;
    result.run_scores.push_back(MeanValue(ScoresOf(result.basis, CurveOf(result.basis, {log}))));
    result.logs.push_back(std::move(log));
  }
  result.curve_ms = CurveOf(result.basis, result.logs);
  result.scores = ScoresOf(result.basis, result.curve_ms);
  result.score = MeanValue(result.scores);
  result.share_reaching_target = static_cast<double>(reached) / repeats;
  return result;
}

}  // namespace attune
