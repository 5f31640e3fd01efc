// Perf-dbs: the parameters of tunable solvers for a problem. docs/formats/miopen.md has the forms:
// two versions of SQLite tables, and two texts. Tables are read and written in storage/miopen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/finding.h"

namespace attune::miopen {

// Parameters of one solver: words that only it understands, without ';' and '='.
struct PerfItem {
  std::string solver;
  std::string params;

  friend bool operator==(const PerfItem&, const PerfItem&) = default;
};

// Items of one key.
struct PerfRecord {
  std::string key;              // Text of a key of PerfDb::form.
  std::vector<PerfItem> items;  // Distinct solvers; none for a configuration without parameters.
  uint64_t line = 0;            // 1-based, or the id of the row in table `config`; 0: from no file.
};

// Returns true for valid parameters of an item: printable, without separators of the text form.
bool AreParameters(std::string_view params);

enum class PerfKeyForm {
  kPerfKey,       // For convolutions.
  kFindKey,       // The same in the oldest text.
  kBatchNormKey,  // For batch norms, which have separate files.
};

// In the order of the file, keys distinct.
struct PerfDb {
  PerfKeyForm form = PerfKeyForm::kPerfKey;
  std::vector<PerfRecord> records;
};

// Reads both texts of convolutions, distinguished by the first valid key. Never fails as a whole.
PerfDb ReadPerfDb(std::string_view content, Findings& findings);
// The text of batch norms. Never fails as a whole.
PerfDb ReadBatchNormDb(std::string_view content, Findings& findings);

// A perf-db converted to another form of keys.
struct ConvertedPerfDb {
  PerfDb db;
  int64_t other_parameters = 0;  // Left out (kOtherParameters).
};
// Why parameters are left out, a sentence.
inline constexpr std::string_view kOtherParameters =
    "A problem with the same key in a perf-db has other parameters.";

// The same under the keys of `form`. Problems that only the oldest text distinguishes become one
// record, in which the first entry of a solver counts; different parameters are left out. The other
// way round is kUnsupported, because a PerfKey lacks fields of a FindKey; so is any conversion
// between batch norms and convolutions.
Result<ConvertedPerfDb> Converted(const PerfDb& db, PerfKeyForm form);

// One line for each record with items, sorted by the bytes of the keys; items in their order.
std::string Text(const PerfDb& db);

}  // namespace attune::miopen
