// What only the library of a device can enumerate, made part of what a tuning tries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/measure/clock.h"
#include "attune/solver/solver.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// How far listing goes. A list of a few ten thousand configs takes 0.2 to 0.5 s of a GPU's time.
struct ListingTerms {
  int64_t limit = 0;        // Configs taken of each list, from its begin; 0: all.
  bool exhaustive = false;  // Lists of every solver, however long it takes.
  // The time of the problem. No list is begun that would make listing take more than a sixth of it,
  // were it as long as the longest before; the first one always is.
  int64_t per_problem_ns = 0;
  Clock* clock = nullptr;  // REQUIRED.
};

// Adds to `source` what those of `solvers` that are listed on the device list there for the problem
// of `evaluator`: the best of those that were told first, and none that is kHopelessToList times
// slower than the best of all. Solvers of which no time is known come last. One without a list is
// tried with the configs that it has; `notes` says why.
void AddListed(const std::vector<const Solver*>& solvers, const ListingTerms& terms,
               Evaluator& evaluator, CandidateSource& source, std::vector<std::string>& notes);

inline constexpr double kHopelessToList = 2.0;

}  // namespace attune
