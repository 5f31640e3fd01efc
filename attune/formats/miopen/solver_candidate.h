// A solver of MIOpen with its parameters, as a candidate.
#pragma once

#include <optional>
#include <string>

#include "attune/trial/candidate.h"

namespace attune::miopen {

struct SolverChoice {
  std::string solver;  // "ConvAsm1x1U"
  std::string params;  // "1,16,1,64,2,1,1,4", as in its perf-db; empty: the defaults.

  friend bool operator==(const SolverChoice&, const SolverChoice&) = default;
};

// `miopen.conv@1{params=_1+16+1+64,solver=ConvAsm1x1U}`. In the words ',' is '+', every other byte
// outside of [A-Za-z0-9_.-] is ':' with two hexadecimal digits, and '_' stands before a word that
// does not begin with a letter. docs/formats/candidate.md.
Candidate CandidateOf(const SolverChoice& choice);

// The same for a solver with parameters that MIOpen's own search found. Without parameters, the
// search is still to run: `miopen.conv-search@1{solver=ConvAsm1x1U}`.
Candidate SearchedCandidateOf(const SolverChoice& choice);

// The inverse of both; nothing for a candidate of another solver.
std::optional<SolverChoice> SolverChoiceOf(const Candidate& candidate);

}  // namespace attune::miopen
