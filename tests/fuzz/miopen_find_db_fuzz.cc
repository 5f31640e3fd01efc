// Any bytes as a find-db of MIOpen's: a parsed one can be written, in either generation, and reads
// as the same without anything left out.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/formats/miopen/find_db.h"
#include "tests/fuzz/fuzz_check.h"

namespace attune::miopen {
namespace {

FindDb Converted(const FindDb& db, Generation generation) {
  FindDb converted;
  for (const FindRecord& record : db.records) {
    converted.records.push_back(Converted(record, generation));
  }
  return converted;
}

void CheckItems(const FindRecord& record) {
  FuzzCheck(!record.items.empty());
  for (const FindItem& item : record.items) {
    FuzzCheck(std::isfinite(item.time_ms) && item.time_ms > 0 && item.workspace_bytes >= 0);
    FuzzCheck(std::count_if(record.items.begin(), record.items.end(), [&item](const auto& other) {
                return other.solver == item.solver;
              }) == 1);
  }
}

void CheckReadsBack(const FindDb& db) {
  const std::string text = Text(db);
  Findings findings;
  const FindDb again = ReadFindDb(text, findings);
  FuzzCheck(again.records.size() == db.records.size());
  FuzzCheck(findings.count(FindingKind::kBadItem) == 0);
  FuzzCheck(findings.count(FindingKind::kDuplicateSolver) == 0);
  FuzzCheck(findings.count(FindingKind::kUnsortedKeys) == 0);
  FuzzCheck(findings.count(FindingKind::kUnsortedItems) == 0);
  FuzzCheck(Text(again) == text);
  size_t items = 0;
  for (const FindRecord& record : db.records) items += record.items.size();
  for (const FindRecord& record : again.records) items -= record.items.size();
  FuzzCheck(items == 0);
}

}  // namespace
}  // namespace attune::miopen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune::miopen;  // NOLINT: this program is of that module alone.
  Findings findings;
  const FindDb db = ReadFindDb({reinterpret_cast<const char*>(data), size}, findings);
  for (const FindRecord& record : db.records) CheckItems(record);
  CheckReadsBack(db);
  CheckReadsBack(Converted(db, Generation::kSolvers));
  CheckReadsBack(Converted(db, Generation::kAlgorithms));
  return 0;
}
