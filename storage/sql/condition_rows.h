// Rows of `set_conditions`: the device conditions around the finals of a set.
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/status.h"
#include "attune/trial/device_conditions.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Records the number of rows, in a database that counts them from now on. Runs inside of a write
// transaction.
Status BeginCountOfConditions(Connection& connection);

// Gives a set its row, without any conditions, unless it has one.
Status InsertConditions(WriteTransaction& transaction, int64_t set_id);

// Replaces the conditions of a set; a set from before there were any gets its row.
Status UpdateConditions(WriteTransaction& transaction, int64_t set_id,
                        const SetConditions& conditions);

// Reads conditions and caches the first set that has any. Not thread-safe.
class ConditionReader {
 public:
  // Conditions of a set; empty for a set without a row. kDataLoss if a set newer than the last one
  // from before they were kept has no row while the row of some set is damaged, because that row
  // may be its own.
  Result<SetConditions> Read(Connection& connection, int64_t set_id);

 private:
  // Why a set has no row: an attune without support for conditions wrote it, or damage changed the
  // row's id (its checksum shows that) or removed it (the number of rows shows that).
  Status CheckThatNoneIsDamaged(Connection& connection);

  bool has_asked_ = false;
  bool has_checked_ = false;
  std::optional<int64_t> last_set_without_;  // Nothing if the database has no such table.
};

}  // namespace attune::sql
