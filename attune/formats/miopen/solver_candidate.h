// A solver of MIOpen's with its parameters, as candidates are named here.
#pragma once

#include <optional>
#include <string>

#include "attune/trial/candidate.h"

namespace attune::miopen {

struct SolverChoice {
  std::string solver;  // "ConvAsm1x1U"
  std::string params;  // "1,16,1,64,2,1,1,4", as its perf-db has them; empty: those by default.

  friend bool operator==(const SolverChoice&, const SolverChoice&) = default;
};

// `miopen.conv@1{params=_1+16+1+64,solver=ConvAsm1x1U}`. In the words ',' is '+', every other byte
// outside of [A-Za-z0-9_.-] is ':' with two hexadecimal digits, and '_' stands before what does not
// begin with a letter. docs/formats/candidate.md.
Candidate CandidateOf(const SolverChoice& choice);

// The same of a solver whose parameters are those that MIOpen's own search found, or, without
// parameters, are still to be searched for: `miopen.conv-search@1{solver=ConvAsm1x1U}`.
Candidate SearchedCandidateOf(const SolverChoice& choice);

// The inverse of both; nothing for a candidate of another solver.
std::optional<SolverChoice> SolverChoiceOf(const Candidate& candidate);

}  // namespace attune::miopen
