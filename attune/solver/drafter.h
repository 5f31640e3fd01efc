// Code that is quicker to build than the final code, for tuning only.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"

namespace attune {

// A second interface of solvers if their compiler has its own cache, as PoCL has. A draft names an
// entry of that cache. A candidate loaded from a draft computes the same results at the same speed
// as one loaded from the final code. Loading takes milliseconds while the compiler's cache holds
// the entry, and compiles again afterwards. Thread-safe.
class Drafter {
 public:
  virtual ~Drafter() = default;

  // The draft of `recipe`, a result of Solver::Recipe for `target`. Solver::Build and Solver::Load
  // take it. Empty if `target` has no drafts.
  virtual Result<BuildRecipe> Draft(const BuildRecipe& recipe, const Target& target) const = 0;
};

}  // namespace attune
