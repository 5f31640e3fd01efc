// Times many candidates against each other, fairly, and stops as soon as the possible winners are
// known.
//
// The candidates run in interleaved rounds, each round in a fresh random order, with the default in
// every round. If candidates ran one after the other, one that ran on a quiet machine would win.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "attune/measure/block_timer.h"
#include "attune/measure/clock.h"
#include "attune/measure/statistics.h"
#include "attune/measure/stopping_criterion.h"
#include "attune/trial/trial.h"

namespace attune {

// The contenders: candidates [0, count) of the BlockTimer, one of which is the default.
struct Entrants {
  size_t count = 1;
  size_t default_index = 0;
};

// After `rounds` rounds, a candidate is dropped if its best sample is more than `factor` times the
// leader's median: it cannot catch up, and confidence intervals would need more rounds to show it.
// Uses its best sample, because one spike must not end a good candidate.
struct CrudeCut {
  int rounds = 1;
  double factor = 3;
};

// Limits of a race, or a final, for one candidate: it ends before the round that would exceed one
// for any candidate. One block of each candidate is taken in any case, and the launches that
// calibrate the block length are not counted. 0: no limit.
struct CandidateLimits {
  int64_t max_launches = 0;  // Timed.
  int64_t max_time_ns = 0;   // Total of timed launches.

  friend bool operator==(const CandidateLimits&, const CandidateLimits&) = default;
};

inline constexpr int64_t kBlockTargetNs = 2'000'000;
inline constexpr int kMaxBlockLaunches = 10'000;

struct RaceOptions {
  uint64_t seed = 1;  // Seeds the order within rounds.
  CacheState cache = CacheState::kWarm;
  // A block (the launches between two clock readings) lasts about this long, so that reading the
  // clock and waking up cost nothing in comparison. A launch that takes longer is one block.
  int64_t block_target_ns = kBlockTargetNs;
  int max_launches = kMaxBlockLaunches;
  int max_rounds = 60;                // At most Measurement::kMaxSamples - 1 count.
  int64_t budget_ns = 2'000'000'000;  // For the whole race by the Clock; the first pass always runs
                                      // for the default.
  CandidateLimits limits = {};
  // Required for a win (decision.h): candidates that cannot reach it are dropped.
  double margin = 0.02;
  double confidence = 0.99;
  size_t finalists =
      3;  // As soon as no more than these are left beside the default, it is decided.
  std::vector<CrudeCut> crude_cuts = {{0, 10.0}, {1, 3.0}, {3, 1.5}};
  // Asked after each round, after the standard ones (decided, budget, rounds). Borrowed.
  std::vector<const StoppingCriterion*> extra_criteria = {};
};

// The result for one candidate.
struct RaceEntry {
  // Measurement of each candidate with samples, dropped or not; Failure of those that failed;
  // monostate if the budget ran out before the first sample.
  std::variant<std::monostate, Failure, Measurement> outcome;
  std::optional<int> dropped_at_round;  // Nothing: ran to the end.
  RatioEstimate speedup;                // Over the default; confidence 0 if there are no pairs.
  int launches = 1;                     // Launches in each block.
  // Wall time of a block by the Clock, with all overhead; recent blocks have more weight. 0 if none
  // ran.
  int64_t block_wall_ns = 0;

  const Failure* failure() const { return std::get_if<Failure>(&outcome); }
  const Measurement* measurement() const { return std::get_if<Measurement>(&outcome); }
};

struct RaceResult {
  std::vector<RaceEntry> entries;  // By candidate index.
  StopReason reason = StopReason::kMaxRounds;
  int rounds = 0;    // Complete rounds since the last restart.
  int restarts = 0;  // Restarts of the measuring process.
  int64_t elapsed_ns = 0;
};

// Called after each pass and round with the state so far; for progress lines.
using RaceProgress = std::function<void(const RaceState&)>;

// Runs the race. One pass over all candidates chooses the launches for each block (a candidate that
// is slower than a block gets one launch, and this pass was its first sample); then rounds until a
// criterion stops the race. `progress` may be empty. If the default fails, the race ends with
// StopReason::kDefaultFailed, since there is nothing left to compare with.
RaceResult Race(BlockTimer& timer, const Entrants& entrants, const RaceOptions& options,
                Clock& clock, const RaceProgress& progress = {});

}  // namespace attune
