// Rows of `trial`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record.h"
#include "attune/trial/trial.h"
#include "storage/sql/set_rows.h"
#include "storage/sql/text_table.h"
#include "storage/sql/transaction.h"

namespace attune::sql {

// Position of a trial in the database.
struct TrialPlace {
  int64_t id = 0;
  int64_t set_id = 0;
  int64_t candidate_id = 0;
  int64_t appended_unix_ns = 0;
};

// As in Record.
struct QualifyingTimes {
  double quick_ns = 0;
  int64_t verify_ns = 0;
};
Row TrialRow(const TrialPlace& place, const Trial& trial, const QualifyingTimes& qualifying);

// Selects trials of a set to read. Empty roles select all.
struct TrialSelection {
  std::vector<TrialRole> roles;
  bool with_samples = true;
};

// Reads trials and caches their candidates. Not thread-safe.
class TrialReader {
 public:
  TrialReader();
  // In order of revision. kDataLoss if their number differs from the count in `progress`.
  Result<std::vector<Record>> Read(Connection& connection, const SetProgress& progress,
                                   const TrialSelection& selection);

 private:
  Result<Record> Parse(Connection& connection, std::span<const Cell> row);
  // Nothing if the row was read without them.
  Result<std::vector<double>> ParseSamples(std::span<const Cell> row) const;

  ParsedTexts<Candidate> candidates_;
  // Never changes once it is in the database.
  std::optional<int64_t> last_unbound_revision_;
};

}  // namespace attune::sql
