#include "apps/attune/session/stale_jobs.h"

#include <utility>

namespace attune {

Result<StaleJobs> StaleJobs::Of(SessionStore& sessions, int64_t session_id) {
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable now, sessions.Solvers(session_id));
  ATTUNE_ASSIGN_OR_RETURN(const auto entries, sessions.AllSolvers(session_id));
  StaleJobs stale;
  for (const SolverEntry& entry : entries) {
    std::string reason = ReasonStale(entry, FindEntry(now, entry.solver.name));
    if (!reason.empty()) stale.reasons_.emplace(entry.id, std::move(reason));
  }
  return stale;
}

std::string StaleJobs::Reason(const Job& job) const {
  const bool has_ended = job.state == JobState::kDone || job.state == JobState::kFailed;
  const auto found = reasons_.find(job.entry_id);
  return has_ended && found != reasons_.end() ? found->second : "";
}

Result<int64_t> RequeueStale(Application& application, const SolverTable& table,
                             const std::vector<JobStep>& steps) {
  const int64_t session_id = application.session()->id;
  ATTUNE_ASSIGN_OR_RETURN(const StaleJobs stale,
                          StaleJobs::Of(*application.sessions(), session_id));
  JobFilter outdated;
  outdated.steps = steps;
  ATTUNE_ASSIGN_OR_RETURN(const auto jobs, application.jobs()->List(session_id, outdated));
  for (const Job& job : jobs) {
    const bool exists = FindEntry(table, job.solver) != nullptr;
    if (exists && !stale.Reason(job).empty()) outdated.ids.push_back(job.id);
  }
  if (outdated.ids.empty()) return int64_t{0};
  return application.jobs()->Requeue(session_id, outdated);
}

}  // namespace attune
