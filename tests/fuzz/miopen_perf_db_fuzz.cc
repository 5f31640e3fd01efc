// Any bytes as a perf-db text of MIOpen's: what is read can be written and reads as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/miopen/perf_db.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

void CheckReadsBack(const attune::miopen::PerfDb& db) {
  const std::string text = Text(db);
  attune::miopen::Findings findings;
  const auto again = attune::miopen::ReadPerfDb(text, findings);
  attune::FuzzCheck(again.records.size() == db.records.size());
  attune::FuzzCheck(Text(again) == text);
  attune::FuzzCheck(db.records.empty() || again.form == db.form);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attune::miopen::Findings findings;
  const auto db = attune::miopen::ReadPerfDb({reinterpret_cast<const char*>(data), size}, findings);
  CheckReadsBack(db);
  const auto converted = Converted(db, attune::miopen::PerfKeyForm::kPerfKey);
  attune::FuzzCheck(converted.ok());
  CheckReadsBack(converted->db);
  return 0;
}
