// Whether configs of a user's kernel are right for a size, found out in processes of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "attune/base/status.h"
#include "attune/kernel/own_kernel.h"
#include "attune/problem/problem.h"
#include "attune/solver/solver.h"
#include "attune/space/config.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/evaluator.h"
#include "attune/tuner/own_kernel/tuned_size.h"

namespace attune {

// For how long a config may run that is checked for `problem`, which is of `sizes`, before it
// hangs: a hundred times what is expected by the nearest of `tuned`, with time to compile at the
// first launch and to compare the outputs; no longer than a candidate that is tuned.
int64_t CheckDeadlineNs(const std::vector<TunedSize>& tuned, const kernel::OwnSizes& sizes,
                        const Problem& problem);

// Of one problem. Children compile, launch and verify, as when it is tuned: a config that crashes
// or hangs costs itself alone. Nothing is started before the first question; the reference is made
// once. All questions are asked by one thread, with which the children end.
class OwnKernelCheck {
 public:
  // `children` are those of ChildrenAt, with the deadline of CheckDeadlineNs. Once `stop` is
  // requested nothing serves any more, and what is being checked is given up.
  OwnKernelCheck(ChildOptions children, SolverId solver, Problem problem, std::stop_token stop);

  // Ok, or why `config` does not serve.
  Status operator()(const Config& config);

 private:
  Status Begin();

  const SolverId solver_;
  const Problem problem_;
  const std::stop_token stop_;
  const std::unique_ptr<Evaluator> evaluator_;
  std::optional<Status> begun_;
};

}  // namespace attune
