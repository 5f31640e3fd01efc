// For tests: runs one candidate on random data and compares it with a naive computation in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attune/solver/solver.h"

namespace attune::host {

struct CheckOutcome {
  // Largest |got - wanted| / (sum of the absolute products behind that element + the addend).
  double worst_error = 0;
  // Another fault: a failed call, NaN, a write outside of the output. Empty if there is none.
  std::string complaint;
};

// Data for one problem and the expected output, computed once for all candidates.
class CandidateCheck {
 public:
  CandidateCheck(const Problem& problem, uint64_t seed);
  ~CandidateCheck();

  // Builds, loads and runs `config` twice, the second time on other data and a moved workspace.
  // Operands stand between guards, the output and the workspace are poisoned with NaN before.
  CheckOutcome Run(const Solver& solver, const Config& config) const;

 private:
  struct Round;
  const Problem problem_;
  std::vector<Round> rounds_;
};

// A target with `compute_units` cores of x86-64-v4.
Target TestTarget(int compute_units);

}  // namespace attune::host
