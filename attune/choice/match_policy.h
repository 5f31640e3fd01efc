// Whether what was measured somewhere holds here.
#pragma once

#include <string>
#include <string_view>

#include "attune/problem/target.h"
#include "attune/trial/candidate.h"

namespace attune {

// How a field of the environment is compared between a record and here.
enum class MatchKind {
  kMustMatch,      // A difference makes the record invalid here.
  kInformational,  // A difference is reported and nothing else.
};

// Which environment fields decide whether a record is valid. Only libraries that the candidate's
// solver calls matter to it, so a record of an OpenBLAS candidate survives an upgrade of oneDNN.
class MatchPolicy {
 public:
  // "library.<x>" and "library.<x>.*" must match for solvers that run code of x: x is a word of the
  // solver's name ("onednn" of host.onednn-conv, "packed" of host.packed-gemm) or the whole of it
  // after the backend ("conv-direct" of opencl.conv-direct). "driver.*" and "policy.*" must match,
  // but a policy whose value is "unknown" then or now does match. Everything else informs.
  static MatchPolicy Default();

  MatchKind KindOf(std::string_view field, const SolverId& solver) const;

  // Empty if a record of `candidate` measured on (target, environment) is valid on (here, now);
  // else a sentence that names the first difference that matters.
  std::string Mismatch(const Candidate& candidate, const Target& target,
                       const Environment& environment, const Target& here,
                       const Environment& now) const;
};

}  // namespace attune
