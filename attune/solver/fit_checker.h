// What some solvers know of their machine code before any device does.
#pragma once

#include <optional>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// What was built, and for what.
struct BuiltCandidate {
  const Artifact& artifact;
  const Problem& problem;
  const Config& config;
};

// A second interface of solvers whose launches may be more than a device has room for, and that
// can tell without one. Thread-safe.
class FitChecker {
 public:
  virtual ~FitChecker() = default;

  // Of how many blocks a multiprocessor of `target` has room at a time, by what a block needs: the
  // least of all launches, 1 or more. Nothing where that is not known. kUnsupported, with the
  // reason, if no device of `target` can launch it; kNotFound if a kernel of its launches is not in
  // the code that was built.
  virtual Result<std::optional<int>> BlocksThatFit(const BuiltCandidate& built,
                                                   const Target& target) const = 0;
};

}  // namespace attune
