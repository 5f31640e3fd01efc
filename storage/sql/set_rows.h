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

// How far a set has come.
struct SetProgress {
  int64_t set_id = 0;  // measurement_set.id
  bool finished = false;
  RoleCounts counts;
};

// Reads sets and remembers what they refer to. Not thread-safe.
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

// Adds the set and its progress; the id of its row, also if the same set is there already.
// kInvalidArgument if another one has its id.
Result<int64_t> InsertSet(WriteTransaction& transaction, const MeasurementSet& set);

// The rows of the sets of a problem, in order of their start. kDataLoss if there are not as many as
// the problem says.
Result<std::vector<Row>> ReadSetRows(Connection& connection, int64_t problem_id);

// The row of a set. kDataLoss if there is none.
Result<Row> ReadSetRowById(Connection& connection, int64_t set_id);
// measurement_set.id and problem_id of such a row.
int64_t SetIdOf(std::span<const Cell> set_row);
int64_t ProblemIdOf(std::span<const Cell> set_row);

// Of the set with this `key`; nothing if there is none.
Result<std::optional<CacheState>> ReadCacheState(Connection& connection, std::string_view key);

// kNotFound if there is no set with this `key` (MeasurementSet::id).
Result<SetProgress> ReadProgressOf(Connection& connection, std::string_view key);
// kDataLoss if there is none for `set_id`.
Result<SetProgress> ReadProgress(Connection& connection, int64_t set_id);
Status UpdateProgress(WriteTransaction& transaction, const SetProgress& progress);
// RecordStore::FinishSet, within `transaction`.
Status FinishSet(WriteTransaction& transaction, std::string_view key);

}  // namespace attune::sql
