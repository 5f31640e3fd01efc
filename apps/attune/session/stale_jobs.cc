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

}  // namespace attune
