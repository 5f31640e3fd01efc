// Rows of `golden`, `golden_state` and `golden_entry`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/session/golden.h"
#include "storage/sql/connection.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// A version with what its rows refer to.
struct GoldenRow {
  GoldenVersion version;  // Without the name of its base.
  std::optional<int64_t> base_id;
  int64_t entry_count = 0;  // Of its own.
};

// Under a new id.
Result<GoldenRow> InsertGolden(WriteTransaction& transaction, const GoldenRow& row);
// Writes what changes: approval, withdrawal, the count.
Status UpdateGolden(WriteTransaction& transaction, const GoldenRow& row);

// In order of their ids, with the names of their bases.
Result<std::vector<GoldenRow>> ReadGolden(Connection& connection);
// kNotFound if there is none with that id.
Result<GoldenRow> ReadGoldenById(Connection& connection, int64_t id);

Status InsertGoldenEntry(WriteTransaction& transaction, int64_t golden_id,
                         const GoldenEntry& entry);
// Those of the version itself, in order of their ids. kDataLoss if there are not as many as it
// says.
Result<std::vector<GoldenEntry>> ReadGoldenEntries(Connection& connection, const GoldenRow& row);

}  // namespace attune::sql
