// Results of attune's own tuning as lines of a results file: one form for the run time, for
// off-line tuning and for exports, so that each reads the others' files.
#pragma once

#include <span>
#include <string>

#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"
#include "attune/tunable/results_file.h"
#include "attune/tunable/validators.h"

namespace attune {

// Result of a tuning.
struct TunedCandidate {
  Candidate candidate;
  double median_ns = 0;
};

// The line of `problem` under `names`, which say less than the problem or the same.
ResultLine ResultLineOf(const TunableOpKey& names, const Problem& problem,
                        const TunedCandidate& tuned);

struct TunedProblem {
  Problem problem;
  TunedCandidate tuned;
};

// A results file with one section: the validators of `identity` and a line for each problem.
std::string ResultsFileText(std::span<const TunedProblem> problems,
                            const TunableIdentity& identity);

}  // namespace attune
