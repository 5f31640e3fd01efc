// Does the jobs of a session on this machine, those of one problem at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/json_text.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/workshop.h"
#include "attune/base/status.h"
#include "attune/jobs/job.h"
#include "attune/tuner/tuner.h"

namespace attune {

struct JobRunOptions {
  std::vector<JobStep> steps;  // Empty: all.
  bool stale = false;          // First queue again what rests on a solver that has changed.
  TuneOptions tune;
  int64_t end_ns = 0;  // When the run should be over, by the steady clock; 0: never.
  std::function<bool()> stop_requested;
  int compile_threads = 1;  // Candidates that are compiled at once by jobs that only compile.
};

struct JobRunSummary {
  int compile_threads = 0;  // JobRunOptions::compile_threads.
  int64_t requeued = 0;     // Of --stale.
  int64_t done = 0;
  int64_t failed = 0;
  int64_t given_back = 0;  // Leased, and not begun or not ended when the run ended.
  int64_t lost = 0;        // Ended here after somebody had cancelled them or taken them over.
  // Of the steps of the run, that are still to be done, by whoever; nothing if the store could not
  // say.
  std::optional<int64_t> left;
  int64_t problems_without_jobs = 0;        // Of the session.
  std::string stopped_because;              // A sentence, if the run gave up.
  Status failure;                           // What ended the run: a store that failed.
  std::map<std::string, int64_t> failures;  // By JobError::kind.
  std::vector<std::string> troubles;        // One sentence for each failure.
};

// Leases, does and reports until nothing is left that can be done here. `workshop` is null where
// the device is not: then jobs are only compiled, and kUnavailable says so if others were asked
// for. Every result is stored as soon as it is there. Fails if nothing could be begun; a store that
// fails later ends the run, which says so in its summary. What was leased is given back before.
Result<JobRunSummary> RunJobs(Application& application, const SessionPlace& place,
                              Workshop* workshop, const JobRunOptions& options);

// How many jobs of `steps`, of all if there are none, are still to be done, by whoever.
Result<int64_t> CountLeft(Application& application, const std::vector<JobStep>& steps);

Json ToJson(const JobRunSummary& summary);
std::string Text(const JobRunSummary& summary);
// 0 if everything is done, 3 if something failed or is left, 1 if nothing that was tried is done.
int ExitStatusOf(const JobRunSummary& summary);

}  // namespace attune
