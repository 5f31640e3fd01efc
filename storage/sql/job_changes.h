// How the states of jobs change, and which can be leased.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/job_store.h"
#include "storage/sql/job_rows.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// " IN (:p2, :p3, ...)" with parameters from `keys.size()` on, to which `ids` (1 to 256) are added.
std::string InList(std::span<const int64_t> ids, std::vector<Cell>& keys);

// Nobody has `job` any more.
void End(Job& job, JobState state, int64_t now_unix_ns);

// Writes a job whose state has changed, and what became of it to the one that depends on it, or
// asks the one that it depends on. Called after every change of a state.
Status Settle(WriteTransaction& transaction, JobRow& row, int64_t now_unix_ns);

// Few leased jobs, in order of their ids. `where` must not ask for that order: MariaDB would then
// follow the ids through all jobs of all sessions.
Result<std::vector<JobRow>> ReadLeased(Connection& connection, const std::string& where,
                                       std::span<const Cell> keys);
// Leased ones of the session whose deadline has passed.
Result<std::vector<JobRow>> ReadExpired(Connection& connection, int64_t session_id,
                                        int64_t now_unix_ns);
// They go back, or have failed for good. How many there were.
Result<int64_t> GiveBackExpired(WriteTransaction& transaction, int64_t session_id,
                                int64_t now_unix_ns);

// That nobody has and that waits for nothing, of the session :p0 and the step :p1.
std::string LeasableWhere(const JobStep& step);

// The leasable jobs of `step` and of those problems that `terms` lead to, those of one problem
// beside each other.
Result<std::vector<JobRow>> FindLeasable(Connection& connection, int64_t session_id,
                                         const JobStep& step, const LeaseTerms& terms);

}  // namespace attune::sql
