// Checks whether configs of a user's kernel are right for a size, in worker processes.
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

// Time after which a checked config of `problem`, which is of `sizes`, counts as hung: a hundred
// times its expected time by the nearest of `tuned`, with time to compile at the first launch and
// to compare the outputs; at most the limit of a tuned candidate.
int64_t CheckDeadlineNs(const std::vector<TunedSize>& tuned, const kernel::OwnSizes& sizes,
                        const Problem& problem);

// Checks configs of one problem. Worker processes compile, launch and verify, as in tuning: a
// config that crashes or hangs costs itself alone. Nothing is started before the first question;
// the reference is made once. All questions must come from one thread, with which the worker
// processes end.
class OwnKernelCheck {
 public:
  // `children` are those of ChildrenAt, with the deadline of CheckDeadlineNs. After `stop` is
  // requested no config serves any more, and the current check is given up.
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
