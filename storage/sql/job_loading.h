// Jobs that are loaded into a session.
#pragma once

#include <cstdint>
#include <span>

#include "attune/base/status.h"
#include "attune/session/job_store.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// JobStore::Load, within `transaction`.
Result<LoadedJobs> LoadJobs(WriteTransaction& transaction, int64_t session_id, const JobLoad& load,
                            std::span<const ProblemSolvers> problems);

}  // namespace attune::sql
