// State that some solvers find out or compile while they load a candidate, so that later processes
// load it sooner.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/device/device.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/solver/fit_checker.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"

namespace attune {

// A candidate that was loaded, with or without a state of an earlier load.
struct LoadedWithState {
  std::unique_ptr<Executable> executable;
  bool is_out_of_state = false;  // Nothing was found out or compiled anew.
  std::string state;             // To be kept; empty where nothing new is worth it.
};

// A second interface of solvers for libraries that can export state and import it again. A state is
// opaque to all other code. Thread-safe.
class StateKeeper {
 public:
  virtual ~StateKeeper() = default;

  // All that a state depends on, under which it is kept: of another library or device, none is
  // found. Empty where nothing is kept. Needs no device.
  virtual BuildRecipe StateKey(const Problem& problem, const Config& config,
                               const Target& target) const = 0;

  // As Solver::Load, but from `state`, which an earlier call returned for the same key, unless it
  // is empty. A state that is refused by now is no failure: the candidate is loaded without it.
  virtual Result<LoadedWithState> LoadWith(std::string_view state, const BuiltCandidate& built,
                                           Device& device) const = 0;
};

}  // namespace attune
