// Adds configs that only the library of a device can enumerate to the candidates of a tuning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/measure/clock.h"
#include "attune/solver/solver.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// Limits of listing. A list of a few ten thousand configs takes 0.2 to 0.5 s of a GPU's time.
struct ListingTerms {
  int64_t limit = 0;        // Configs taken of each list, from its begin; 0: all.
  bool exhaustive = false;  // Lists of every solver, however long it takes.
  // The time of the problem. A list is skipped if listing would exceed a sixth of it, assuming that
  // the list takes as long as the longest so far; the first list never is.
  int64_t per_problem_ns = 0;
  Clock* clock = nullptr;  // REQUIRED.
};

// Adds to `source` the configs that the device lists for the problem of `evaluator`, for those of
// `solvers` that are listed on the device. Solvers with the best times come first, those without a
// time last, and those that are kHopelessToList times slower than the best are left out. A solver
// without a list is tried with the configs that it has; `notes` says why.
void AddListed(const std::vector<const Solver*>& solvers, const ListingTerms& terms,
               Evaluator& evaluator, CandidateSource& source, std::vector<std::string>& notes);

inline constexpr double kHopelessToList = 2.0;

}  // namespace attune
