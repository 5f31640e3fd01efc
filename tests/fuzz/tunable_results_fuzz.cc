// Any bytes as a results file: nothing of them is lost, parsed results are written back as they
// were, and putting a result in keeps every line that was there.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attune/tunable/results_storage.h"
#include "tests/fuzz/fuzz_check.h"

namespace {

void CheckLines(const attune::ResultsFile& file) {
  for (const attune::FileLine& line : file.lines) {
    attune::FuzzCheck(line.section < file.sections.size());
    if (line.kind != attune::FileLineKind::kResult) continue;
    const auto again = attune::ParseResultLine(attune::Text(line.result));
    attune::FuzzCheck(again.ok() && again->key == line.result.key &&
                      again->solution == line.result.solution &&
                      again->problem_text == line.result.problem_text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attune::ResultsFile file = attune::ParseResultsFile(text);
  attune::FuzzCheck(attune::Text(file) == text);
  CheckLines(file);

  const attune::TunableIdentity here{"0.1.0", {"fake", "Fake", "none", 1, {}}, {}};
  attune::ResultTable table;
  const attune::LoadReport report = attune::LoadResults(text, here, table);
  attune::FuzzCheck(report.accepted == static_cast<int64_t>(table.size()));

  attune::ResultLine line;
  line.key = {"GemmTunableOp_float_NN", "nn_4_5_6"};
  line.solution = "Default";
  const size_t lines_before = file.lines.size();
  attune::PutResults({&line, 1}, attune::AddSection(attune::ValidatorsOf(here), file), file);
  attune::FuzzCheck(file.lines.size() > lines_before);
  attune::FuzzCheck(attune::Text(file).starts_with(text));
  attune::ResultTable again;
  attune::LoadResults(attune::Text(file), here, again);
  attune::FuzzCheck(again.size() >= table.size());

  static_cast<void>(attune::ParseUntunedFile(text));
  return 0;
}
