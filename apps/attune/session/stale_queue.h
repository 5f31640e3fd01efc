// The jobs that `attune tune --stale` queues: jobs with a solver that has changed since they ended,
// and jobs for problems that are new to the session. docs/formats/sessions.md.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "apps/attune/application.h"
#include "apps/attune/session/job_summary.h"
#include "apps/attune/session/solver_survey.h"
#include "attune/base/fingerprint.h"
#include "attune/base/status.h"
#include "attune/session/job_store.h"
#include "attune/session/solver_table.h"

namespace attune {

// Jobs for problems that have none.
struct NewJobs {
  std::vector<ProblemSolvers> problems;
  std::vector<JobStep> steps;
  std::set<std::pair<std::string, JobStep>> left_out;  // As JobLoad has it.
};

// Jobs for those of `problems`, all that a session has with the solvers that apply, which have none
// of `jobs`, all of the session, and are not `decided`. A solver gets the steps that it has jobs
// of. A solver without jobs gets none if it applies to problems that have jobs, because loading
// them left it out. Otherwise it is new, and gets every step that the session has jobs of. Without
// any jobs these are perf:compile and perf:measure. Leaves out problems to which no remaining
// solver applies.
NewJobs PlanNewJobs(std::span<const ProblemSolvers> problems, std::span<const Job> jobs,
                    const std::set<Fingerprint>& decided);

// Queues stale ones of `jobs` again, all jobs of the application's session, if they are of `steps`
// and their solver is in the table of `survey`. That table is of all its problems and the newest
// one: a missing solver cannot run again. Then loads PlanNewJobs of every step, whatever `steps`
// are: another machine may do the others. Decided are measurements of the session without jobs, by
// a solver that has not changed since. kFailedPrecondition if there is something to queue and the
// session is closed.
Result<StaleQueue> QueueStale(Application& application, const SolverSurvey& survey,
                              const std::vector<Job>& jobs, const std::vector<JobStep>& steps);

}  // namespace attune
