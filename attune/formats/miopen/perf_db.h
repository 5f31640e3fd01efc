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

// Of one solver: words of its own that nobody else understands, without ';' and '='.
struct PerfItem {
  std::string solver;
  std::string params;

  friend bool operator==(const PerfItem&, const PerfItem&) = default;
};

// What is known for one key.
struct PerfRecord {
  std::string key;              // Text of a key of PerfDb::form.
  std::vector<PerfItem> items;  // Of distinct solvers; none for a configuration without parameters.
  uint64_t line = 0;            // 1-based, or the id of the row in table `config`; 0: of no file.
};

// Whether parameters can be those of an item: printable, and nothing that ends it in a text.
bool AreParameters(std::string_view params);

enum class PerfKeyForm {
  kPerfKey,       // Of convolutions.
  kFindKey,       // The same in the oldest text.
  kBatchNormKey,  // Of batch norms, which have files of their own.
};

// In the order of the file, keys distinct.
struct PerfDb {
  PerfKeyForm form = PerfKeyForm::kPerfKey;
  std::vector<PerfRecord> records;
};

// Both texts of convolutions, told apart by the first key that is one. Never fails as a whole.
PerfDb ReadPerfDb(std::string_view content, Findings& findings);
// The text of batch norms. Never fails as a whole.
PerfDb ReadBatchNormDb(std::string_view content, Findings& findings);

// A perf-db under other keys than it was read with.
struct ConvertedPerfDb {
  PerfDb db;
  int64_t other_parameters = 0;  // Left out (kOtherParameters).
};
// Why parameters are left out, a sentence.
inline constexpr std::string_view kOtherParameters =
    "A problem with the same key in a perf-db has other parameters.";

// The same under the keys of `form`. Problems that only the oldest text tells from one another
// become one record, in which the first to name a solver counts; parameters that differ from its
// are left out. The other way round is kUnsupported, because a PerfKey lacks what a FindKey has; so
// is anything between batch norms and convolutions.
Result<ConvertedPerfDb> Converted(const PerfDb& db, PerfKeyForm form);

// One line for each record with items, sorted by the bytes of the keys; items as they stand.
std::string Text(const PerfDb& db);

}  // namespace attune::miopen
