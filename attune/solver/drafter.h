// Code that is good enough to be tried, and quicker to make than what programs load.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// A second interface of solvers whose compiler keeps what it has compiled in a cache of its own. A
// draft is what such a compiler needs to find it there again: its candidate computes the same, as
// fast, and loads in milliseconds on this machine for as long as that cache lasts; after that,
// loading compiles. Thread-safe.
class Drafter {
 public:
  virtual ~Drafter() = default;

  // As Solver::Recipe, for Solver::Build and Load; empty if there are no drafts for `target`.
  virtual Result<BuildRecipe> DraftRecipe(const Problem& problem, const Config& config,
                                          const Target& target) const = 0;
};

}  // namespace attune
