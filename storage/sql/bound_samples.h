// From which revision on the samples of a trial are bound to its row: the row of `bound_samples`.
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "storage/sql/connection.h"

namespace attune::sql {

// Notes that the samples of every trial after the last one are bound. Runs inside of a write
// transaction.
Status InsertBoundSamples(Connection& connection);

// The last revision whose samples may belong to any row; nothing if the database is older than the
// table, so that all may. kDataLoss if the table has no such row.
Result<std::optional<int64_t>> ReadLastUnboundRevision(Connection& connection);

}  // namespace attune::sql
