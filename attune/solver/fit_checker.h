// Limits that some solvers read from their machine code before any device does.
#pragma once

#include <optional>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// A built artifact, with its problem and config.
struct BuiltCandidate {
  const Artifact& artifact;
  const Problem& problem;
  const Config& config;
};

// A second interface of solvers with launches that may exceed the resources of a device, and that
// can check this without one. Thread-safe.
class FitChecker {
 public:
  virtual ~FitChecker() = default;

  // The number of blocks that fit on a multiprocessor of `target` at a time, by the resources of a
  // block: the minimum over all launches, 1 or more. Empty if unknown. kUnsupported, with the
  // reason, if no device of `target` can launch it; kNotFound if the built code lacks a kernel of
  // its launches.
  virtual Result<std::optional<int>> BlocksThatFit(const BuiltCandidate& built,
                                                   const Target& target) const = 0;
};

}  // namespace attune
