// Does the jobs that a worker takes.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_store.h"
#include "attune/session/session.h"

namespace attune {

// Not thread-safe.
class JobDoer {
 public:
  virtual ~JobDoer() = default;

  // The steps of `session` that can be done here now, in the preferred order; none if it is for
  // other machines.
  virtual std::vector<JobStep> StepsOf(const Session& session) = 0;
  // The database or the queue was away: StepsOf() examines this machine anew.
  virtual void LookAgain() = 0;
  // Does jobs of one problem and one step of `session`. Returns a report for each, in their order;
  // jobs that could not begin or end are kQueued. After an error the caller must give them back:
  // this machine can do no more of this session until the cause changes.
  virtual Result<std::vector<JobReport>> Do(const Session& session,
                                            const std::vector<Job>& jobs) = 0;
  // Why this machine can do no more work at all, a sentence; empty while it can. The jobs that
  // failed because of it are queued again by then.
  virtual std::string WhyNoMore() = 0;
};

}  // namespace attune
