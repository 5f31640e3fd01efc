#include "attune/formats/miopen/import_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attune/base/base64.h"
#include "attune/base/text.h"
#include "attune/formats/miopen/batch_norm_key.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/problem/escaping.h"
#include "attune/problem/problem.h"

namespace attune::miopen {
namespace {

constexpr std::string_view kKernelWord = "kernel";
constexpr std::string_view kBlobWord = "blob";
// A multiple of three, so that parts end without padding; 48 KiB of base64.
constexpr size_t kPartBytes = 36 * 1024;

// `blob_bytes`: size of the whole blob, which may be incomplete so far.
std::string HeadOf(const KernelRow& row, size_t blob_bytes) {
  // Both may have blanks in them.
  const std::string name = Escaped(row.name);
  return fmt::format("{} {} {} {} {} {}{}", kKernelWord, row.hash, row.code_bytes, blob_bytes,
                     name.size(), name, Escaped(row.options));
}

Fingerprint PerfLookupKey(const std::string& text, PerfKeyForm form) {
  if (form == PerfKeyForm::kBatchNormKey) return BatchNormLookupKey(text);
  if (form == PerfKeyForm::kPerfKey) return FingerprintOf(text);
  const auto key = ReadFindKey(text);
  return key ? ParametersLookupKey(*key) : FingerprintOf(text);
}

Status BadKernelLine(const ImportedLine& line) {
  return DataLoss(
      fmt::format("Line {} of an imported kernel db is none that was written: the database is "
                  "damaged. Import the file into another one (--db), or restore this one.",
                  line.number));
}

}  // namespace

Fingerprint LookupKey(const FindRecord& record) {
  const auto key = ReadFindKey(record.key);
  if (!key) return FingerprintOf(record.key);
  const auto problem = ProblemOf(*key);
  return problem.ok() ? KeyOf(Problem(*problem)) : FingerprintOf(record.key);
}

Fingerprint ParametersLookupKey(const FindKey& find_key) {
  return FingerprintOf(Text(PerfKeyOf(find_key)));
}

Fingerprint BatchNormLookupKey(std::string_view text) {
  const auto key = ReadBatchNormKey(text);
  if (!key) return FingerprintOf(text);
  const auto problem = ProblemOf(*key);
  return problem.ok() ? KeyOf(Problem(*problem)) : FingerprintOf(text);
}

std::vector<ImportedLine> LinesOf(const FindDb& db) {
  std::vector<ImportedLine> lines;
  lines.reserve(db.records.size());
  for (const FindRecord& record : db.records) {
    if (record.items.empty()) continue;
    ImportedLine& line = lines.emplace_back();
    line.key = LookupKey(record);
    line.number = static_cast<int64_t>(record.line);
    AppendText(record, line.text);
    line.text.pop_back();
  }
  return lines;
}

std::vector<ImportedLine> LinesOf(const PerfDb& db) {
  std::vector<ImportedLine> lines;
  lines.reserve(db.records.size());
  for (const PerfRecord& record : db.records) {
    if (record.items.empty()) continue;
    ImportedLine& line = lines.emplace_back();
    line.key = PerfLookupKey(record.key, db.form);
    line.number = static_cast<int64_t>(record.line);
    line.text = Text(PerfDb{db.form, {record}});
    line.text.pop_back();
  }
  return lines;
}

std::vector<ImportedLine> LinesOf(const KernelRow& row) {
  const Fingerprint key = FingerprintOf(row.name + '\n' + row.options);
  std::vector<ImportedLine> lines;
  lines.push_back({key, row.id, HeadOf(row, row.blob.size())});
  for (size_t begin = 0; begin < row.blob.size(); begin += kPartBytes) {
    lines.push_back({key, row.id,
                     fmt::format("{} {}", kBlobWord,
                                 ToBase64(std::string_view(row.blob).substr(begin, kPartBytes)))});
  }
  return lines;
}

Status KernelAssembler::Add(const ImportedLine& line) {
  std::string_view rest = line.text;
  const std::string_view word = NextWord(rest);
  if (word == kBlobWord && missing_bytes_ > 0) {
    const size_t size = std::min(missing_bytes_, kPartBytes);
    const auto bytes = FromBase64(rest);
    if (!bytes.has_value() || bytes->size() != size) return BadKernelLine(line);
    row_.blob += *bytes;
    missing_bytes_ -= size;
    return missing_bytes_ == 0 ? take_(row_) : Status::Ok();
  }
  if (word != kKernelWord || missing_bytes_ > 0) return BadKernelLine(line);
  row_ = {};
  row_.id = line.number;
  row_.hash = NextWord(rest);
  const auto code_bytes = WholeNumber(NextWord(rest));
  const auto blob_bytes = WholeNumber(NextWord(rest));
  const auto name_bytes = static_cast<size_t>(WholeNumber(NextWord(rest)).value_or(0));
  const auto name = Unescaped(rest.substr(0, name_bytes));
  const auto options = Unescaped(rest.substr(std::min(name_bytes, rest.size())));
  if (!code_bytes || !blob_bytes || *blob_bytes == 0 || !name || !options) {
    return BadKernelLine(line);
  }
  row_.code_bytes = *code_bytes;
  row_.name = *name;
  row_.options = *options;
  const auto bytes = static_cast<size_t>(*blob_bytes);
  // Another spelling may have lost a digit or a length.
  if (HeadOf(row_, bytes) != line.text) return BadKernelLine(line);
  missing_bytes_ = bytes;
  return Status::Ok();
}

Status KernelAssembler::Finish() const {
  if (missing_bytes_ == 0) return Status::Ok();
  return DataLoss(fmt::format("Kernel '{}' of an imported kernel db lacks {} bytes.", row_.name,
                              missing_bytes_));
}

}  // namespace attune::miopen
