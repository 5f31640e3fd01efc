// Whether configs of a user's kernel are right for a size, found out in processes of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"
#include "attune/tuner/evaluator.h"
#include "attune/wisdom/own_kernel_tuning.h"

namespace attune {

// Of one problem. Children compile, launch and verify, as when it is tuned: a config that crashes
// or hangs costs itself alone. Nothing is started before the first question; the reference is made
// once. Borrows `place`. Not thread-safe.
class OwnKernelCheck {
 public:
  OwnKernelCheck(const OwnKernelPlace& place, SolverId solver, Problem problem)
      : place_(place), solver_(std::move(solver)), problem_(std::move(problem)) {}

  // Ok, or why `config` does not serve. kNotFound without a program for children.
  Status operator()(const Config& config);

 private:
  Status Begin();

  const OwnKernelPlace& place_;
  const SolverId solver_;
  const Problem problem_;
  std::unique_ptr<Evaluator> evaluator_;
  std::optional<Status> begun_;
};

}  // namespace attune
