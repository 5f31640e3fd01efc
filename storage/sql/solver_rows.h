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
// Of `generation`, or of every one if it is 0, in order of their ids. kDataLoss if there are not as
// many as the session says.
Result<std::vector<SolverEntry>> ReadSolvers(Connection& connection, const SessionRow& session,
                                             int64_t generation);

// Adds or replaces what is known of a problem; whether it is new.
Result<bool> PutApplicability(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                              const ProblemSolvers& problem);
// What was found out under `generation`, in order of the rows. kDataLoss as above.
Result<std::vector<ProblemSolvers>> ReadApplicability(Connection& connection,
                                                      const SessionRow& session,
                                                      int64_t generation);

}  // namespace attune::sql
