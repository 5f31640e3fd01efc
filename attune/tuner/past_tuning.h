// Earlier tunings of the problems of a run, from the records.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/tuner/tuner.h"

namespace attune {

// Past tuning of one problem, over the sets whose final gives a choice that would be valid here,
// whether they decided or the earlier choice stayed (Tuner::Select).
struct PastTuning {
  // Time of a set from before the time was recorded (kPerProblemTerm): no run gives more.
  static constexpr int64_t kUnknownTimeNs = std::numeric_limits<int64_t>::max();

  bool is_decided = false;     // There is a valid choice.
  int64_t most_time_ns = 0;    // Maximum time of the problem in one of the sets.
  bool tried_fewer = false;    // Some sets do not count in most_time_ns: their limit of candidates
                               // is below that of the tuner's options.
  int64_t newest_unix_ns = 0;  // When the newest set began; 0 if there is none.

  // True if a tuning with `per_problem_ns` has nothing to add. A set that ended undecided counts as
  // one that decided: as much time again would find no more.
  bool Suffices(int64_t per_problem_ns) const {
    return is_decided && most_time_ns >= per_problem_ns;
  }
};

// True if a tuning with at most `max_candidates` (0: no limit) may try more than `set` did.
bool MayTryMore(const MeasurementSet& set, int64_t max_candidates);

// Fails as the store does.
Result<PastTuning> FindPastTuning(const Tuner& tuner, const Problem& problem);

// Positions in `past`: first problems that were never measured, in their order, then those measured
// longest ago first.
std::vector<size_t> LongestAgoFirst(std::span<const PastTuning> past);

}  // namespace attune
