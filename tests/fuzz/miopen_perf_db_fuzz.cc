// Any bytes as a perf-db text of MIOpen's, of convolutions and of batch norms: a parsed one can be
// written and reads as the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/formats/miopen/perf_db.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

void CheckReadsBack(const attune::miopen::PerfDb& db) {
  const std::string text = Text(db);
  attune::miopen::Findings findings;
  const bool is_of_batch_norms = db.form == attune::miopen::PerfKeyForm::kBatchNormKey;
  const auto again = is_of_batch_norms ? attune::miopen::ReadBatchNormDb(text, findings)
                                       : attune::miopen::ReadPerfDb(text, findings);
  attune::FuzzCheck(again.records.size() == db.records.size());
  attune::FuzzCheck(Text(again) == text);
  attune::FuzzCheck(db.records.empty() || again.form == db.form);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  attune::miopen::Findings findings;
  CheckReadsBack(attune::miopen::ReadBatchNormDb(content, findings));
  const auto db = attune::miopen::ReadPerfDb(content, findings);
  CheckReadsBack(db);
  const auto converted = Converted(db, attune::miopen::PerfKeyForm::kPerfKey);
  attune::FuzzCheck(converted.ok());
  CheckReadsBack(converted->db);
  return 0;
}
