// What does the jobs that a worker takes.
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

  // The steps of `session` that can be done here as things are now, in the order in which they are
  // preferred; none if it is for other machines.
  virtual std::vector<JobStep> StepsOf(const Session& session) = 0;
  // The database or the queue was away: StepsOf() looks anew at what is here.
  virtual void LookAgain() = 0;
  // Does jobs of one problem and one step of `session`: a report for each, in their order; those
  // that could not be begun or ended say kQueued. A Status means that they are to be given back,
  // and that nothing more of this session can be done here until that has changed.
  virtual Result<std::vector<JobReport>> Do(const Session& session,
                                            const std::vector<Job>& jobs) = 0;
  // Why this machine can do nothing at all any more, a sentence; empty while it can. The jobs that
  // failed for it are queued again by then.
  virtual std::string WhyNoMore() = 0;
};

}  // namespace attune
