// Decides if a measurement from another machine or environment is valid here.
#pragma once

#include <string>
#include <string_view>

#include "attune/problem/target.h"
#include "attune/trial/candidate.h"

namespace attune {

// How to compare a field of the environment between a record and here.
enum class MatchKind {
  kMustMatch,  // A difference makes the record invalid here.
  // A difference makes the record a hint; within the range of Judge() it may serve until the
  // problem is tuned here.
  kCompatibleRange,
  kInformational,  // A difference is only reported.
};

// Validity here of a record from another environment.
enum class Validity {
  kHolds,       // As good as measured here and now.
  kCompatible,  // Orders candidates well enough to serve from, but does not replace tuning.
  kInvalid,
};
struct Judgement {
  Validity validity = Validity::kHolds;
  std::string reason;  // The first difference that matters; empty if it holds.
};

// Returns true if a solver of this name runs code of library x: x is a word of the name ("onednn"
// of host.onednn-conv, "packed" of host.packed-gemm) or the whole of it after the backend
// ("conv-direct" of opencl.conv-direct).
bool RunsLibrary(std::string_view solver_name, std::string_view library);

// Which environment fields decide whether a record is valid. Only libraries that the candidate's
// solver calls matter to it, so a record of an OpenBLAS candidate survives an upgrade of oneDNN.
class MatchPolicy {
 public:
  // "library.<x>" and "library.<x>.*" must match for solvers that run code of x (RunsLibrary).
  // "driver.*" and "policy.*" must match, but a policy with the value "unknown" then or now does
  // match. All other fields are informational.
  static MatchPolicy Default();

  MatchKind KindOf(std::string_view field, const SolverId& solver) const;

  // Compatible are records of another device of the same backend and architecture, and records with
  // differences of kCompatibleRange only: another policy; another version of a library or driver
  // with the same first two numbers, and then another build of it.
  Judgement Judge(const Candidate& candidate, const Target& target, const Environment& environment,
                  const Target& here, const Environment& now) const;

  // Empty if a record of `candidate` measured on (target, environment) is valid on (here, now);
  // else a sentence that names the first difference that matters.
  std::string Mismatch(const Candidate& candidate, const Target& target,
                       const Environment& environment, const Target& here,
                       const Environment& now) const;
};

}  // namespace attune
