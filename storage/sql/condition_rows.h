// Rows of `set_conditions`: what the device said around the finals of a set.
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "attune/trial/device_conditions.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Notes how many rows there are, in a database that counts them from now on. Runs inside of a write
// transaction.
Status BeginCountOfConditions(Connection& connection);

// Gives a set its row, without any conditions, unless it has one.
Status InsertConditions(WriteTransaction& transaction, int64_t set_id);

// Replaces the conditions of a set; a set from before there were any gets its row.
Status UpdateConditions(WriteTransaction& transaction, int64_t set_id,
                        const SetConditions& conditions);

// Reads conditions and remembers from which set on there are any. Not thread-safe.
class ConditionReader {
 public:
  // Those of a set; empty ones for a set without a row. kDataLoss if a later set than the last one
  // from before they were kept has none while the row of some set is damaged, which may be its own.
  Result<SetConditions> Read(Connection& connection, int64_t set_id);

 private:
  // Why a set has no row: an attune that knows nothing of conditions wrote it, or damage gave the
  // row another id, which its checksum shows, or took it away, which their number does.
  Status CheckThatNoneIsDamaged(Connection& connection);

  bool has_asked_ = false;
  bool has_checked_ = false;
  std::optional<int64_t> last_set_without_;  // Nothing if the database has no such table.
};

}  // namespace attune::sql
