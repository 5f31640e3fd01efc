#include <algorithm>
#include <cmath>
#include <utility>

#include "attune/measure/decision.h"
#include "attune/measure/rounds.h"

namespace attune {
namespace {

// Even over budget: enough for the rule for gross differences in Decide.
constexpr int kMinRounds = 3;

// Looks at kFirstLookRounds * 2^i rounds and at the last one.
bool IsLook(int round, int max_rounds) {
  int64_t at = kFirstLookRounds;
  while (at < round) at *= 2;
  return at == round || round == max_rounds;
}

std::vector<Lane> LanesOf(const Finalist& default_candidate, std::span<const Finalist> finalists) {
  std::vector<Lane> lanes(1);
  lanes[0].index = default_candidate.index;
  lanes[0].launches = default_candidate.launches;
  for (const Finalist& finalist : finalists) {
    Lane& lane = lanes.emplace_back();
    lane.index = finalist.index;
    lane.launches = finalist.launches;
  }
  return lanes;
}

class FinalRun {
 public:
  FinalRun(BlockTimer& timer, std::vector<Lane> lanes, const FinalOptions& options, Clock& clock)
      : options_(options),
        max_rounds_(std::clamp(options.max_rounds, 1, static_cast<int>(Measurement::kMaxSamples))),
        confidence_(FinalConfidence(options.confidence)),
        budget_(options.budget_ns),
        rounds_(timer, clock, std::move(lanes),
                {.seed = options.seed,
                 .cache = options.cache,
                 .confidence = options.confidence,
                 .limits = options.limits}) {}

  FinalResult Run() {
    std::optional<StopReason> reason;
    while (!reason.has_value()) {
      rounds_.RunRound();
      reason = Check();
    }
    return ResultFor(*reason);
  }

 private:
  std::optional<StopReason> Check() {
    if (!rounds_.default_lane().running) return StopReason::kDefaultFailed;
    if (rounds_.TooManyRestarts()) return StopReason::kTooManyRestarts;
    const int round = rounds_.round();
    const bool alone = rounds_.RunningContenders() == 0;
    if (alone && round >= kFirstLookRounds) return StopReason::kOnlyDefaultLeft;
    if (!alone && IsLook(round, max_rounds_) && DecideNow().settled) return StopReason::kDecided;
    if (round >= max_rounds_) return StopReason::kMaxRounds;
    if (rounds_.AtLimit()) return StopReason::kCandidateLimit;
    if (round < kMinRounds) return std::nullopt;
    return budget_.Check({.round = round,
                          .elapsed_ns = rounds_.ElapsedNs(),
                          .last_round_ns = rounds_.last_round_ns(),
                          .candidates = rounds_.lanes().size(),
                          .contenders = {}});
  }

  // The decision over the running candidates; `winner` is an index among them.
  Decision DecideNow() {
    std::vector<Measurement> finalists;
    for (size_t i = 1; i < rounds_.lanes().size(); ++i) {
      if (rounds_.lanes()[i].running) finalists.push_back(MeasurementFor(rounds_.lanes()[i]));
    }
    return Decide(MeasurementFor(rounds_.default_lane()), finalists, options_.margin, confidence_);
  }

  Measurement MeasurementFor(const Lane& lane) const {
    return MeasurementOf(lane.samples_ns, options_.cache, options_.confidence);
  }

  RaceEntry EntryOf(const Lane& lane) const {
    RaceEntry entry;
    entry.launches = lane.launches;
    entry.speedup = lane.speedup;
    if (lane.failure.has_value()) {
      entry.outcome = *lane.failure;
    } else if (!lane.samples_ns.empty()) {
      entry.outcome = MeasurementFor(lane);
    }
    return entry;
  }

  FinalResult ResultFor(StopReason reason) {
    FinalResult result;
    result.reason = reason;
    result.rounds = rounds_.round();
    result.restarts = rounds_.restarts();
    result.elapsed_ns = rounds_.ElapsedNs();
    std::vector<size_t> running;
    for (const Lane& lane : rounds_.lanes()) {
      if (&lane == &rounds_.default_lane()) {
        result.default_entry = EntryOf(lane);
        continue;
      }
      result.entries.push_back(EntryOf(lane));
      if (lane.running) running.push_back(lane.index);
    }
    if (reason == StopReason::kDefaultFailed || rounds_.round() == 0) return result;
    const Decision decision = DecideNow();
    result.speedup = decision.speedup;
    if (decision.winner.has_value()) result.winner = running[*decision.winner];
    return result;
  }

  const FinalOptions& options_;
  int max_rounds_;
  double confidence_;  // At each look.
  BudgetCriterion budget_;
  Rounds rounds_;
};

}  // namespace

FinalResult RunFinal(BlockTimer& timer, const Finalist& default_candidate,
                     std::span<const Finalist> finalists, const FinalOptions& options,
                     Clock& clock) {
  return FinalRun(timer, LanesOf(default_candidate, finalists), options, clock).Run();
}

}  // namespace attune
