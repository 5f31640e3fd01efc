// Chooses the winner: the default, unless a candidate is faster by a margin with confidence.
//
// Two stages, because the best of many noisy numbers is too good (the winner's curse): the race
// screens, and the decision rests on fresh samples of the best few and the default alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attune/measure/race.h"
#include "attune/measure/statistics.h"
#include "attune/trial/trial.h"

namespace attune {

struct Decision {
  // Position in `finalists`; nothing if the default stays.
  std::optional<size_t> winner;
  // Speed-up of the winner, or, if the default stays, of the finalist with the highest estimate.
  // Untouched if there are no finalists.
  RatioEstimate speedup;
  // True if more samples can hardly change the answer: no finalist can be faster than the winner
  // (or beat the default) by more than the margin.
  bool settled = false;
  // With confidence, no other candidate is more than this many times as fast as the winner (or the
  // default that stays): 1.3 leaves a possible 30 %. 0 without other candidates. Infinity if there
  // are too few samples for a bound, also of the winner against the default.
  double doubt = 0;

  friend bool operator==(const Decision&, const Decision&) = default;
};

// A finalist beats the default if the lower end of the confidence interval of its speed-up is at
// least 1 + margin; among those that do, the highest estimate wins. The probability that a finalist
// that is not faster by the margin wins is at most (1 - confidence) / 2 over all finalists together
// (Bonferroni). Samples pair by position: sample i of every measurement is of the same round.
// REQUIRES: margin >= 0, confidence in (0, 1).
Decision Decide(const Measurement& default_measurement, std::span<const Measurement> finalists,
                double margin, double confidence);

// A final looks at its samples at 12, 24, 48, 96 and 192 rounds, and may stop at each.
inline constexpr int kFirstLookRounds = 12;
inline constexpr int kFinalLooks = 5;

// Confidence that each look needs so that all of them together err with a probability of 1 -
// confidence at most. A later reader of a final's samples decides with this too, and so gets the
// same answer.
double FinalConfidence(double confidence);

// A candidate of the final: its index in the BlockTimer, and the launches for each of its blocks.
struct Finalist {
  size_t index = 0;
  int launches = 1;

  friend bool operator==(const Finalist&, const Finalist&) = default;
};

// The finalists of a race, highest estimate first, at most `max_count`: survivors and dropped ones
// alike are left out if they cannot be faster than the default by `margin` at the race's
// confidence. Never the default.
std::vector<Finalist> SelectFinalists(const RaceResult& race, const Entrants& entrants,
                                      double margin, size_t max_count);

struct FinalOptions {
  uint64_t seed = 1;
  CacheState cache = CacheState::kWarm;
  int max_rounds = 192;  // kFinalLooks is the number of looks up to here.
  int64_t budget_ns = 1'000'000'000;
  CandidateLimits limits = {};
  double margin = 0.02;
  double confidence = 0.99;
};

struct FinalResult {
  // `winner` is an index of the BlockTimer; nothing if the default stays.
  std::optional<size_t> winner;
  RatioEstimate speedup;  // As in Decision.
  RaceEntry default_entry;
  std::vector<RaceEntry> entries;  // One for each finalist, same order. Fresh samples only.
  StopReason reason = StopReason::kMaxRounds;
  int rounds = 0;
  int restarts = 0;
  int64_t elapsed_ns = 0;
};

// Times the default and the finalists in interleaved rounds and decides on these samples alone.
// Looks at the samples only at 12, 24, 48, ... rounds and spends (1 - confidence) in equal parts
// over these looks, because looking after every round would find a lucky moment. With no finalists
// it measures the default.
FinalResult RunFinal(BlockTimer& timer, const Finalist& default_candidate,
                     std::span<const Finalist> finalists, const FinalOptions& options,
                     Clock& clock);

}  // namespace attune
