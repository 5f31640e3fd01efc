// Changes of the states of jobs, and the rules for leasing.
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

// Releases `job` from its owner.
void End(Job& job, JobState state, int64_t now_unix_ns);

// Writes a job whose state has changed. Also updates the job that depends on it, or adapts `row` to
// the job that it depends on. Call after every change of a state.
Status Settle(WriteTransaction& transaction, JobRow& row, int64_t now_unix_ns);

// Reads a few leased jobs, in order of their ids. `where` must not sort by id: MariaDB would then
// follow the ids through all jobs of all sessions.
Result<std::vector<JobRow>> ReadLeased(Connection& connection, const std::string& where,
                                       std::span<const Cell> keys);
// Leased jobs of the session that are past their deadline.
Result<std::vector<JobRow>> ReadExpired(Connection& connection, int64_t session_id,
                                        int64_t now_unix_ns);
// Queues them again or fails them for good. Returns their number.
Result<int64_t> GiveBackExpired(WriteTransaction& transaction, int64_t session_id,
                                int64_t now_unix_ns);

// Selects jobs of the session :p0 and the step :p1 that have no owner and wait for nothing.
std::string LeasableWhere(const JobStep& step);

// The leasable jobs of `step` for the problems that `terms` select, jobs of one problem side by
// side.
Result<std::vector<JobRow>> FindLeasable(Connection& connection, int64_t session_id,
                                         const JobStep& step, const LeaseTerms& terms);

}  // namespace attune::sql
