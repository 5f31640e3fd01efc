// Code that is quicker to build than the final code, for tuning only.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// A second interface of solvers whose compiler has a cache of its own, as PoCL has. A draft names
// an entry of that cache. A candidate loaded from a draft computes the same results at the same
// speed as one loaded from the final code. Loading takes milliseconds while the compiler's cache
// holds the entry, and compiles again afterwards. Thread-safe.
class Drafter {
 public:
  virtual ~Drafter() = default;

  // As Solver::Recipe; Solver::Build and Solver::Load take the result. Empty if `target` has no
  // drafts.
  virtual Result<BuildRecipe> DraftRecipe(const Problem& problem, const Config& config,
                                          const Target& target) const = 0;
};

}  // namespace attune
