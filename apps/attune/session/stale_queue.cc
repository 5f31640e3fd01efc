#include "apps/attune/session/stale_queue.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "apps/attune/session/session_choices.h"
#include "apps/attune/session/stale_jobs.h"
#include "attune/base/user_at_host.h"

namespace attune {
namespace {

// Steps for a session without jobs: every solver is compiled, then searched, as by a tuning without
// jobs.
constexpr JobStep kUsualSteps[] = {{JobSearch::kPerf, JobWork::kCompile},
                                   {JobSearch::kPerf, JobWork::kMeasure}};

Result<int64_t> RequeueStale(Application& application, const SolverTable& table,
                             const std::vector<Job>& jobs, const std::vector<JobStep>& steps) {
  const int64_t session_id = application.session()->id;
  ATTUNE_ASSIGN_OR_RETURN(const StaleJobs stale,
                          StaleJobs::Of(*application.sessions(), session_id));
  JobFilter outdated;
  outdated.steps = steps;
  for (const Job& job : jobs) {
    const bool is_asked = std::find(steps.begin(), steps.end(), job.step) != steps.end();
    const bool exists = FindEntry(table, job.solver) != nullptr;
    if (is_asked && exists && !stale.Reason(job).empty()) outdated.ids.push_back(job.id);
  }
  if (outdated.ids.empty()) return int64_t{0};
  return application.jobs()->Requeue(session_id, outdated);
}

// Problems with a decision of the session that nothing in `table` outdates, for any state of the
// caches.
Result<std::set<Fingerprint>> DecidedIn(Application& application, const SolverTable& table) {
  std::set<Fingerprint> decided;
  const Session& session = *application.session();
  if (session.set_count == 0) return decided;
  ATTUNE_ASSIGN_OR_RETURN(const auto choices,
                          ChoicesOf(session, application.all_records(), *application.sessions()));
  for (const auto& [question, found] : choices) {
    const SolverId& solver = found.choice.candidate.solver;
    if (!ReasonStale(table, solver, CodeOf(solver.name, found.environment)).empty()) continue;
    decided.insert(KeyOf(found.choice.problem));
  }
  return decided;
}

Result<LoadedJobs> Load(Application& application, const SolverTable& table, const NewJobs& jobs) {
  JobLoad load;
  load.steps = jobs.steps;
  load.left_out = jobs.left_out;
  load.reason = "new to the session (tune --stale)";
  load.loaded_by = UserAtHost();
  for (const SolverEntry& entry : table.entries) {
    if (entry.compiles) load.compiling_solvers.push_back(entry.solver.name);
  }
  return application.jobs()->Load(application.session()->id, load, jobs.problems);
}

}  // namespace

NewJobs PlanNewJobs(std::span<const ProblemSolvers> problems, std::span<const Job> jobs,
                    const std::set<Fingerprint>& decided) {
  std::set<JobStep> steps;
  std::map<std::string, std::set<JobStep>> steps_of;  // By solver.
  std::set<Fingerprint> with_jobs;
  for (const Job& job : jobs) {
    steps.insert(job.step);
    steps_of[job.solver].insert(job.step);
    with_jobs.insert(KeyOf(job.problem));
  }
  if (jobs.empty()) steps.insert(std::begin(kUsualSteps), std::end(kUsualSteps));
  std::set<std::string> known;  // The process that loaded the jobs has decided on these.
  for (const ProblemSolvers& problem : problems) {
    if (!with_jobs.contains(KeyOf(problem.problem))) continue;
    known.insert(problem.solvers.begin(), problem.solvers.end());
  }
  NewJobs fresh;
  fresh.steps.assign(steps.begin(), steps.end());
  for (const auto& [solver, own] : steps_of) {
    for (const JobStep& step : steps) {
      if (!own.contains(step)) fresh.left_out.emplace(solver, step);
    }
  }
  for (const ProblemSolvers& problem : problems) {
    const Fingerprint key = KeyOf(problem.problem);
    if (with_jobs.contains(key) || decided.contains(key)) continue;
    ProblemSolvers left = problem;
    std::erase_if(left.solvers, [&](const std::string& solver) {
      return known.contains(solver) && !steps_of.contains(solver);
    });
    if (!left.solvers.empty()) fresh.problems.push_back(std::move(left));
  }
  return fresh;
}

Result<StaleQueue> QueueStale(Application& application, const SolverSurvey& survey,
                              const std::vector<Job>& jobs, const std::vector<JobStep>& steps) {
  StaleQueue queue;
  ATTUNE_ASSIGN_OR_RETURN(queue.requeued, RequeueStale(application, survey.table, jobs, steps));
  // Decisions are read only if needed: reading takes every measurement of the session.
  if (PlanNewJobs(survey.problems, jobs, {}).problems.empty()) return queue;
  ATTUNE_ASSIGN_OR_RETURN(const auto decided, DecidedIn(application, survey.table));
  const NewJobs fresh = PlanNewJobs(survey.problems, jobs, decided);
  if (fresh.problems.empty()) return queue;
  ATTUNE_ASSIGN_OR_RETURN(const LoadedJobs loaded, Load(application, survey.table, fresh));
  queue.added = loaded.added;
  queue.new_problems = std::ssize(fresh.problems);
  return queue;
}

}  // namespace attune
