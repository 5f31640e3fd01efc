// What the records tell a run about the earlier tunings of its problems.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Of one problem, over the sets whose final gives a choice that would be valid here, whether they
// decided or what stood before them stayed (Tuner::Select).
struct PastTuning {
  // Of a set from before the time was recorded (kPerProblemTerm): no run gives more.
  static constexpr int64_t kUnknownTimeNs = std::numeric_limits<int64_t>::max();

  bool is_decided = false;     // A choice stands.
  int64_t most_time_ns = 0;    // The most that the problem had in one of the sets.
  bool tried_fewer = false;    // In sets that do not count in most_time_ns: as many candidates as
                               // they might try are fewer than the tuner's options allow.
  int64_t newest_unix_ns = 0;  // When the newest set began; 0 if there is none.

  // Whether a tuning with `per_problem_ns` has nothing to add. A set that ended undecided counts as
  // one that decided: as much time again would find no more.
  bool Suffices(int64_t per_problem_ns) const {
    return is_decided && most_time_ns >= per_problem_ns;
  }
};

// Whether a tuning with at most `max_candidates` (0: no limit) may try more than `set` did.
bool MayTryMore(const MeasurementSet& set, int64_t max_candidates);

// Fails as the store does.
Result<PastTuning> FindPastTuning(const Tuner& tuner, const Problem& problem);

// Positions in `past`, of what was measured longest ago first, and before that, as they stand, of
// what never was.
std::vector<size_t> LongestAgoFirst(std::span<const PastTuning> past);

}  // namespace attune
