// When to stop measuring: small rules over the state after a round.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "attune/measure/statistics.h"

namespace attune {

enum class StopReason {
  kDecided,          // More rounds would not change the result.
  kBudget,           // Another round would not fit into the time budget.
  kMaxRounds,        // Limit of rounds.
  kCandidateLimit,   // Another round would exceed the time limit of one candidate.
  kOnlyDefaultLeft,  // All others failed or were dropped.
  kDefaultFailed,    // The default failed, so nothing can be compared.
  kTooManyRestarts,  // The measuring process died more often than there are candidates.
  kCancelled,        // An additional criterion of the caller.
};
// "decided" and so on: the text in logs and JSON.
std::string_view Name(StopReason reason);

// One candidate that is still in the race, other than the default.
struct Contender {
  size_t index = 0;
  RatioEstimate speedup = {};  // Over the default; confidence 0 as long as there are no pairs.
};

// The state after a round. The span is valid during the call only.
struct RaceState {
  int round = 0;  // Complete rounds; 0 after the calibration pass.
  int64_t elapsed_ns = 0;
  int64_t last_round_ns = 0;
  size_t candidates = 0;                       // Started ones, the default included.
  std::span<const Contender> contenders = {};  // Still running.
};

// Stateless or not, a criterion is asked once after each round. Not thread-safe.
class StoppingCriterion {
 public:
  virtual ~StoppingCriterion() = default;
  virtual std::optional<StopReason> Check(const RaceState& state) const = 0;
};

// Stops when the finalists are known: at most `finalists` contenders are left after `min_rounds`,
// or all speed-ups are known to within `precision` (relative half width), so that their order is.
class DecidedCriterion final : public StoppingCriterion {
 public:
  struct Options {
    size_t finalists = 3;
    int min_rounds = 5;
    double precision = 0.005;
    double confidence = 0.99;
  };
  explicit DecidedCriterion(const Options& options) : options_(options) {}
  std::optional<StopReason> Check(const RaceState& state) const override;

 private:
  Options options_;
};

// Stops before a round that would not end in time if it took as long as the last one.
class BudgetCriterion final : public StoppingCriterion {
 public:
  explicit BudgetCriterion(int64_t budget_ns) : budget_ns_(budget_ns) {}
  std::optional<StopReason> Check(const RaceState& state) const override;

 private:
  int64_t budget_ns_;
};

class MaxRoundsCriterion final : public StoppingCriterion {
 public:
  explicit MaxRoundsCriterion(int max_rounds) : max_rounds_(max_rounds) {}
  std::optional<StopReason> Check(const RaceState& state) const override;

 private:
  int max_rounds_;
};

}  // namespace attune
