// Any text as the stored lines of imported databases, one of each kind on a line of its own:
// refused, or read, stored as the same lines, and queried without harm.
//
// A line of the input begins with 'f' for a find-db, 'p' for a perf-db, 'b' for one of batch norms
// or 'k' for a kernel db.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/formats/miopen/import_lines.h"
#include "attune/formats/miopen/imported_choice.h"
#include "tests/fuzz/fuzz_check.h"

namespace attune::miopen {
namespace {

class StoredLines {
 public:
  void Add(char kind, ImportedLine line) {
    if (kind == 'f') AddFindRecord(line);
    if (kind == 'p') AddPerfRecord(line);
    if (kind == 'b') AddBatchNorm(line);
    if (kind == 'k') AddKernelLine(std::move(line));
  }

 private:
  void AddFindRecord(const ImportedLine& line) {
    const auto record = FindRecordOf(file_, line);
    if (!record.ok()) return;
    const auto kept = LinesOf(FindDb{{*record}});
    if (record->items.empty()) {  // None of its times is believed any more.
      FuzzCheck(kept.empty() && AnswerOf(file_, *record, parameters_).ranking.empty());
      return;
    }
    FuzzCheck(kept.size() == 1 && kept[0].number == line.number);
    const auto again = FindRecordOf(file_, kept[0]);
    FuzzCheck(again.ok() && again->items.size() == record->items.size());
    FuzzCheck(LinesOf(FindDb{{*again}}) == kept);
    const ImportedAnswer answer = AnswerOf(file_, *record, parameters_);
    FuzzCheck(answer.ranking.size() + answer.notes.size() <= record->items.size());
    for (const ImportedCandidate& each : answer.ranking) {
      FuzzCheck(each.time_ns > 0 && each.workspace_bytes >= 0);
    }
  }

  void AddPerfRecord(const ImportedLine& line) {
    auto record = PerfRecordOf(file_, line);
    if (!record.ok()) return;
    const bool is_find_key = record->key.find('-') != std::string::npos;
    const auto kept =
        LinesOf(PerfDb{is_find_key ? PerfKeyForm::kFindKey : PerfKeyForm::kPerfKey, {*record}});
    FuzzCheck(kept.size() == 1 && kept[0].number == line.number);
    const auto again = PerfRecordOf(file_, kept[0]);
    FuzzCheck(again.ok() && again->key == record->key && again->items == record->items);
    parameters_.items = std::move(record->items);
  }

  void AddBatchNorm(const ImportedLine& line) {
    ImportedFile file;
    file.kind = kBatchNormDbKind;
    const auto record = PerfRecordOf(file, line);
    if (!record.ok()) return;
    const auto kept = LinesOf(PerfDb{PerfKeyForm::kBatchNormKey, {*record}});
    FuzzCheck(kept.size() == 1 && kept[0].number == line.number);
    const auto again = PerfRecordOf(file, kept[0]);
    FuzzCheck(again.ok() && again->key == record->key && again->items == record->items);
    const ImportedAnswer answer = AnswerOf(file, *record);
    FuzzCheck(answer.ranking.empty() && answer.notes.size() == record->items.size());
  }

  void AddKernelLine(ImportedLine line) {
    const bool begins = kernel_lines_.empty();
    kernel_lines_.push_back(std::move(line));
    if (assembler_.Add(kernel_lines_.back()).ok()) return;
    if (begins) kernel_lines_.clear();
    if (!begins) kernel_lines_.pop_back();
    if (!begins) FuzzCheck(!assembler_.Finish().ok());
  }

  Status TakeKernel(const KernelRow& row) {
    const auto kept = LinesOf(row);
    FuzzCheck(kept.size() == kernel_lines_.size());
    for (size_t i = 0; i < kept.size(); ++i) FuzzCheck(kept[i].text == kernel_lines_[i].text);
    FuzzCheck(row.id == kernel_lines_.front().number);
    Findings findings;
    CheckKernel(row, findings);
    kernel_lines_.clear();
    return Status::Ok();
  }

  const ImportedFile file_{};
  ImportedParameters parameters_;           // From the last record of a perf-db.
  std::vector<ImportedLine> kernel_lines_;  // For the kernel being assembled.
  KernelAssembler assembler_{[this](const KernelRow& row) { return TakeKernel(row); }};
};

}  // namespace
}  // namespace attune::miopen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  attune::miopen::StoredLines lines;
  int64_t number = 0;
  for (size_t begin = 0; begin < input.size();) {
    const size_t end = std::min(input.find('\n', begin), input.size());
    if (end > begin) {
      attune::ImportedLine line;
      line.number = ++number;
      line.text = input.substr(begin + 1, end - begin - 1);
      lines.Add(input[begin], std::move(line));
    }
    begin = end + 1;
  }
  return 0;
}
