#include "attune/measure/stopping_criterion.h"

#include <algorithm>

namespace attune {

std::string_view Name(StopReason reason) {
  switch (reason) {
    case StopReason::kDecided:
      return "decided";
    case StopReason::kBudget:
      return "budget";
    case StopReason::kMaxRounds:
      return "max_rounds";
    case StopReason::kCandidateLimit:
      return "candidate_limit";
    case StopReason::kOnlyDefaultLeft:
      return "only_default_left";
    case StopReason::kDefaultFailed:
      return "default_failed";
    case StopReason::kTooManyRestarts:
      return "too_many_restarts";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::optional<StopReason> DecidedCriterion::Check(const RaceState& state) const {
  if (state.round < options_.min_rounds) return std::nullopt;
  if (state.contenders.size() <= options_.finalists) return StopReason::kDecided;
  const bool all_known = std::all_of(
      state.contenders.begin(), state.contenders.end(), [&](const Contender& contender) {
        const RatioEstimate& speedup = contender.speedup;
        return speedup.confidence >= options_.confidence &&
               speedup.high - speedup.low <= 2 * options_.precision * speedup.ratio;
      });
  if (all_known) return StopReason::kDecided;
  return std::nullopt;
}

std::optional<StopReason> BudgetCriterion::Check(const RaceState& state) const {
  if (state.elapsed_ns + state.last_round_ns > budget_ns_) return StopReason::kBudget;
  return std::nullopt;
}

std::optional<StopReason> MaxRoundsCriterion::Check(const RaceState& state) const {
  if (state.round >= max_rounds_) return StopReason::kMaxRounds;
  return std::nullopt;
}

}  // namespace attune
