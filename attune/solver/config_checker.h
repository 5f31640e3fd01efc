// Checks one config without listing the space.
#pragma once

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/space/config.h"

namespace attune {

// A second interface of solvers that check a config in less time than Solver::Space() takes. Calls
// that a record serves for the first time wait for this check. Thread-safe.
class ConfigChecker {
 public:
  virtual ~ConfigChecker() = default;

  // True if Solver::Space() has `config`. REQUIRES: the solver applies to `problem`.
  virtual Result<bool> HasConfig(const Problem& problem, const Config& config,
                                 const Target& target) const = 0;
};

}  // namespace attune
