// A solver with its parameters: the unit of trying, recording and serving.
#pragma once

#include <string>
#include <string_view>
#include <tuple>

#include "attune/base/status.h"
#include "attune/space/config.h"

namespace attune {

// The solver that computes. The name is chosen by hand, `backend.solver` in [a-z0-9_.-], and never
// derived from a class; the version is bumped when older measurements stop being valid.
struct SolverId {
  std::string name;
  int version = 1;

  friend auto operator<=>(const SolverId&, const SolverId&) = default;
};

// "host.openblas-gemm@1".
std::string Text(const SolverId& id);

struct Candidate {
  SolverId solver;
  Config config;

  friend bool operator==(const Candidate&, const Candidate&) = default;
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.solver, a.config) < std::tie(b.solver, b.config);
  }
};

// `backend.solver@version{key=value,...}`, keys sorted; `{}` when there are none.
std::string Text(const Candidate& candidate);
Result<Candidate> ParseCandidate(std::string_view text);

}  // namespace attune
