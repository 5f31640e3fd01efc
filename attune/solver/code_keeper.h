// Code that this process has loaded on a device, for further problems.
#pragma once

#include <memory>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// A second interface of solvers with code that computes problems of every size. A candidate with
// code that is loaded for another problem is ready within microseconds: nothing is compiled, read
// or loaded. Thread-safe.
class CodeKeeper {
 public:
  virtual ~CodeKeeper() = default;

  // False if no code of this solver is loaded: then no default config has to be found.
  virtual bool HasLoadedAny() const = 0;
  // True if the code of the candidate is loaded on `device` and in use.
  virtual bool HasLoaded(const Problem& problem, const Config& config, Device& device) const = 0;

  // Returns an executable like Solver::Load. kNotFound if the code is no longer loaded.
  virtual Result<std::unique_ptr<Executable>> LoadAgain(const Problem& problem,
                                                        const Config& config,
                                                        Device& device) const = 0;
};

}  // namespace attune
