// Rows of `measurement_set` and `set_progress`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record.h"
#include "attune/record/rules.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Progress of a set.
struct SetProgress {
  int64_t set_id = 0;  // measurement_set.id
  bool finished = false;
  RoleCounts counts;
};

// Reads sets and caches the rows that they refer to. Not thread-safe.
class SetReader {
 public:
  SetReader();
  // `row` is a checked row of measurement_set.
  Result<MeasurementSet> Parse(Connection& connection, std::span<const Cell> row);

 private:
  ParsedTexts<Problem> problems_;
  ParsedTexts<Target> targets_;
  ParsedTexts<Environment> environments_;
};

// Adds the set and its progress; returns the id of its row, also if the same set exists already.
// kInvalidArgument if another set has its id.
Result<int64_t> InsertSet(WriteTransaction& transaction, const MeasurementSet& set);

// The rows of the sets of a problem, in order of their start. kDataLoss if their number differs
// from the problem's count.
Result<std::vector<Row>> ReadSetRows(Connection& connection, int64_t problem_id);

// The row of a set. kDataLoss if it is missing.
Result<Row> ReadSetRowById(Connection& connection, int64_t set_id);
// measurement_set.id and problem_id of such a row.
int64_t SetIdOf(std::span<const Cell> set_row);
int64_t ProblemIdOf(std::span<const Cell> set_row);

// Cache state of the set with this `key`; nothing if there is none.
Result<std::optional<CacheState>> ReadCacheState(Connection& connection, std::string_view key);

// kNotFound if there is no set with this `key` (MeasurementSet::id).
Result<SetProgress> ReadProgressOf(Connection& connection, std::string_view key);
// kDataLoss if there is none for `set_id`.
Result<SetProgress> ReadProgress(Connection& connection, int64_t set_id);
Status UpdateProgress(WriteTransaction& transaction, const SetProgress& progress);
// RecordStore::FinishSet, within `transaction`.
Status FinishSet(WriteTransaction& transaction, std::string_view key);

}  // namespace attune::sql
