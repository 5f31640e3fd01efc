// What only the library of a device can enumerate, made part of what a tuning tries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/solver/solver.h"
#include "attune/tuner/candidate_source.h"
#include "attune/tuner/evaluator.h"

namespace attune {

// Adds to `source` what each of `solvers` that is listed on the device lists there for the problem
// of `evaluator`, the first `limit` of each list; 0: all. A solver without a list is tried with the
// configs that it has; `notes` says why.
void AddListed(const std::vector<const Solver*>& solvers, int64_t limit, Evaluator& evaluator,
               CandidateSource& source, std::vector<std::string>& notes);

}  // namespace attune
