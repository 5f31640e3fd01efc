// Rows of `session_solver` and `applicability`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/solver_table.h"
#include "storage/sql/connection.h"
#include "storage/sql/session_rows.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Under new ids, which are set in `entries`.
Status InsertSolvers(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                     std::span<SolverEntry> entries);
// Solvers of `generation`, or of all generations if it is 0, in order of their ids. kDataLoss if
// their number differs from the session's count.
Result<std::vector<SolverEntry>> ReadSolvers(Connection& connection, const SessionRow& session,
                                             int64_t generation);

// Adds or replaces the applicability of a problem; returns true if it is new.
Result<bool> PutApplicability(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                              const ProblemSolvers& problem);
// Applicability found under `generation`, in order of the rows. kDataLoss as above.
Result<std::vector<ProblemSolvers>> ReadApplicability(Connection& connection,
                                                      const SessionRow& session,
                                                      int64_t generation);

}  // namespace attune::sql
