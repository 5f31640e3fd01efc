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

// A version with the values that its row refers to.
struct GoldenRow {
  GoldenVersion version;  // Without the name of its base.
  std::optional<int64_t> base_id;
  int64_t entry_count = 0;  // Entries of its own, without its base.
};

// Under a new id.
Result<GoldenRow> InsertGolden(WriteTransaction& transaction, const GoldenRow& row);
// Writes the mutable fields: approval, withdrawal, the count.
Status UpdateGolden(WriteTransaction& transaction, const GoldenRow& row);

// In order of their ids, with the names of their bases.
Result<std::vector<GoldenRow>> ReadGolden(Connection& connection);
// kNotFound if there is no row with that id.
Result<GoldenRow> ReadGoldenById(Connection& connection, int64_t id);

Status InsertGoldenEntry(WriteTransaction& transaction, int64_t golden_id,
                         const GoldenEntry& entry);
// The entries of the version itself, in order of their ids. kDataLoss if their number differs from
// the version's count.
Result<std::vector<GoldenEntry>> ReadGoldenEntries(Connection& connection, const GoldenRow& row);

}  // namespace attune::sql
