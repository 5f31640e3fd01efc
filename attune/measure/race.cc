#include "attune/measure/race.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attune/measure/rounds.h"

namespace attune {
namespace {

std::vector<Lane> LanesOf(const Entrants& entrants) {
  std::vector<Lane> lanes(1);
  lanes.front().index = entrants.default_index;
  for (size_t index = 0; index < entrants.count; ++index) {
    if (index == entrants.default_index) continue;
    lanes.emplace_back().index = index;
  }
  return lanes;
}

double MedianOrBest(const Lane& lane) {
  return lane.samples_ns.empty() ? lane.best_ns : Median(lane.samples_ns);
}

// One race: rounds, cuts and criteria.
class RaceRun {
 public:
  RaceRun(BlockTimer& timer, const Entrants& entrants, const RaceOptions& options, Clock& clock)
      : options_(options),
        clock_(clock),
        rounds_(timer, clock, LanesOf(entrants),
                {.seed = options.seed,
                 .cache = options.cache,
                 .confidence = options.confidence,
                 .block_target_ns = options.block_target_ns,
                 .max_launches = options.max_launches,
                 .limits = options.limits}),
        decided_({.finalists = options.finalists, .confidence = options.confidence}),
        budget_(options.budget_ns),
        max_rounds_(std::min(options.max_rounds, static_cast<int>(Measurement::kMaxSamples) - 1)) {}

  RaceResult Run(const RaceProgress& progress) {
    rounds_.Calibrate(clock_.NowNs() + options_.budget_ns);
    std::optional<StopReason> reason = FinishRound(progress);
    while (!reason.has_value()) {
      rounds_.RunRound();
      reason = FinishRound(progress);
    }
    return ResultFor(*reason);
  }

 private:
  std::optional<StopReason> FinishRound(const RaceProgress& progress) {
    if (!rounds_.default_lane().running) return StopReason::kDefaultFailed;
    if (rounds_.TooManyRestarts()) return StopReason::kTooManyRestarts;
    CutCrudely();
    DropHopeless();
    std::vector<Contender> contenders;
    for (const Lane& lane : rounds_.lanes()) {
      const bool is_default = &lane == &rounds_.default_lane();
      if (lane.running && !is_default) contenders.push_back({lane.index, lane.speedup});
    }
    const RaceState state{rounds_.round(), rounds_.ElapsedNs(), rounds_.last_round_ns(),
                          rounds_.lanes().size(), contenders};
    if (progress) progress(state);
    return CheckCriteria(state);
  }

  std::optional<StopReason> CheckCriteria(const RaceState& state) const {
    // The default alone keeps running until it has a few samples: it is the baseline of every
    // record.
    if (state.contenders.empty() && state.round >= kMinRoundsOfDefault) {
      return StopReason::kOnlyDefaultLeft;
    }
    std::vector<const StoppingCriterion*> criteria = {&decided_, &budget_, &max_rounds_};
    criteria.insert(criteria.end(), options_.extra_criteria.begin(), options_.extra_criteria.end());
    for (const StoppingCriterion* criterion : criteria) {
      if (const auto reason = criterion->Check(state)) return reason;
    }
    if (rounds_.AtLimit()) return StopReason::kCandidateLimit;
    return std::nullopt;
  }

  double LeaderMedianNs() {
    double leader_ns = std::numeric_limits<double>::infinity();
    for (const Lane& lane : rounds_.lanes()) {
      if (lane.running && lane.best_ns > 0) leader_ns = std::min(leader_ns, MedianOrBest(lane));
    }
    return leader_ns;
  }

  void CutCrudely() {
    const double leader_ns = LeaderMedianNs();
    for (Lane& lane : rounds_.lanes()) {
      if (!lane.running || &lane == &rounds_.default_lane()) continue;
      const bool cut = std::any_of(
          options_.crude_cuts.begin(), options_.crude_cuts.end(), [&](const CrudeCut& crude) {
            return rounds_.round() >= crude.rounds && lane.best_ns > crude.factor * leader_ns;
          });
      if (cut) rounds_.Drop(lane);
    }
  }

  // Drops candidates that are, with confidence, slower than the best or not faster than the default
  // by the margin.
  void DropHopeless() {
    double bar = 1 + options_.margin;
    for (const Lane& lane : rounds_.lanes()) {
      if (lane.running && Trusted(lane)) bar = std::max(bar, lane.speedup.low);
    }
    for (Lane& lane : rounds_.lanes()) {
      const bool is_default = &lane == &rounds_.default_lane();
      if (lane.running && !is_default && Trusted(lane) && lane.speedup.high < bar) {
        rounds_.Drop(lane);
      }
    }
  }

  bool Trusted(const Lane& lane) const { return lane.speedup.confidence >= options_.confidence; }

  RaceEntry EntryOf(const Lane& lane) const {
    RaceEntry entry;
    entry.dropped_at_round = lane.dropped_at_round;
    entry.speedup = lane.speedup;
    entry.launches = lane.launches;
    entry.block_wall_ns = lane.block_wall_ns;
    if (lane.failure.has_value()) {
      entry.outcome = *lane.failure;
    } else if (!lane.samples_ns.empty()) {
      entry.outcome = MeasurementOf(lane.samples_ns, options_.cache, options_.confidence);
    } else if (lane.best_ns > 0) {
      entry.outcome = MeasurementOf({lane.best_ns}, options_.cache, options_.confidence);
    }
    return entry;
  }

  RaceResult ResultFor(StopReason reason) {
    RaceResult result;
    result.entries.resize(rounds_.lanes().size());
    for (const Lane& lane : rounds_.lanes()) result.entries[lane.index] = EntryOf(lane);
    result.reason = reason;
    result.rounds = rounds_.round();
    result.restarts = rounds_.restarts();
    result.elapsed_ns = rounds_.ElapsedNs();
    return result;
  }

  static constexpr int kMinRoundsOfDefault = 5;

  const RaceOptions& options_;
  Clock& clock_;
  Rounds rounds_;
  DecidedCriterion decided_;
  BudgetCriterion budget_;
  MaxRoundsCriterion max_rounds_;
};

}  // namespace

RaceResult Race(BlockTimer& timer, const Entrants& entrants, const RaceOptions& options,
                Clock& clock, const RaceProgress& progress) {
  assert(entrants.default_index < entrants.count);
  return RaceRun(timer, entrants, options, clock).Run(progress);
}

}  // namespace attune
