// Which jobs of a session rest on a solver that has changed since they ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job.h"
#include "attune/session/session_store.h"

namespace attune {

class StaleJobs {
 public:
  // By the newest table of solvers of the session.
  static Result<StaleJobs> Of(SessionStore& sessions, int64_t session_id);

  // True if results under that SolverEntry::id are stale.
  bool Contains(int64_t entry_id) const { return reasons_.contains(entry_id); }
  // A sentence; empty for a job that never ended, and for one that matches the present state.
  std::string Reason(const Job& job) const;

 private:
  std::map<int64_t, std::string> reasons_;  // By SolverEntry::id; entries that are stale.
};

}  // namespace attune
