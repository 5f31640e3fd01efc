// Rows of `session_solver` and `applicability`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/solver_table.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Under new ids, which are set in `entries`.
Status InsertSolvers(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                     std::span<SolverEntry> entries);
// Of `generation`, or of every one if it is 0, in order of their ids.
Result<std::vector<SolverEntry>> ReadSolvers(Connection& connection, int64_t session_id,
                                             int64_t generation);

// Adds or replaces what is known of a problem.
Status PutApplicability(WriteTransaction& transaction, int64_t session_id, int64_t generation,
                        const ProblemSolvers& problem);
Result<std::vector<ProblemSolvers>> ReadApplicability(Connection& connection, int64_t session_id,
                                                      int64_t generation);

}  // namespace attune::sql
