// Does the jobs of a session on this machine, those of one problem at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/session/job_executor.h"
#include "apps/attune/session/job_summary.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/workshop.h"
#include "attune/base/status.h"
#include "attune/session/job.h"

namespace attune {

struct JobRunOptions {
  std::vector<JobStep> steps;  // Empty: all.
  bool stale = false;          // First queue outdated and new jobs (QueueStale).
  JobTerms terms;
};

// Leases, does and reports jobs until none is left that can be done here. `workshop` is null where
// the device is absent: then jobs are only compiled, and kUnavailable is returned if others were
// requested. Stores every result at once. Fails if nothing could be begun; a store that fails later
// ends the run, and the summary has the failure. Leased jobs are given back before.
Result<JobRunSummary> RunJobs(Application& application, const SessionPlace& place,
                              Workshop* workshop, const JobRunOptions& options);

// Counts jobs of `steps`, of all if there are none; failed ones also of the compile steps that they
// wait for.
Result<OpenJobs> CountOpen(Application& application, const std::vector<JobStep>& steps);

}  // namespace attune
