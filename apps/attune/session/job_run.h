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
  bool stale = false;          // First queue what is outdated, and what is new (QueueStale).
  JobTerms terms;
};

// Leases, does and reports until nothing is left that can be done here. `workshop` is null where
// the device is not: then jobs are only compiled, and kUnavailable says so if others were asked
// for. Every result is stored as soon as it is there. Fails if nothing could be begun; a store that
// fails later ends the run, which says so in its summary. What was leased is given back before.
Result<JobRunSummary> RunJobs(Application& application, const SessionPlace& place,
                              Workshop* workshop, const JobRunOptions& options);

// Of `steps`, of all if there are none; failed ones also of the compile steps that they wait for.
Result<OpenJobs> CountOpen(Application& application, const std::vector<JobStep>& steps);

}  // namespace attune
