#include "attune/formats/miopen/imported_choice.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/formats/miopen/batch_norm_key.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/file_name.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/ops/batch_norm/batch_norm.h"
#include "attune/ops/conv/conv.h"

namespace attune::miopen {
namespace {

using Match = std::pair<ImportedFile, ImportedLine>;

// The newest line under the key of `problem` of a file of `kind` for `target`.
Result<std::optional<Match>> NewestRecord(ImportStore& imports, std::string_view target,
                                          std::string_view kind, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(auto found, imports.Find(KeyOf(problem)));
  Match* of_opencl = nullptr;
  for (auto& match : found) {
    if (match.first.kind != kind || match.first.target != target) continue;
    if (IsSecond(match.first)) {
      if (of_opencl == nullptr) of_opencl = &match;
      continue;
    }
    return std::optional(std::move(match));
  }
  if (of_opencl != nullptr) return std::optional(std::move(*of_opencl));
  return std::optional<Match>();
}

// The same for the problem that imports use if they lack `problem`.
Result<std::optional<Match>> NewestMeant(ImportStore& imports, std::string_view target,
                                         std::string_view kind, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(auto found, NewestRecord(imports, target, kind, problem));
  const Problem meant = MeantByImports(problem);
  return found.has_value() || meant == problem ? std::move(found)
                                               : NewestRecord(imports, target, kind, meant);
}

Status Damaged(const ImportedFile& file, const ImportedLine& line) {
  return DataLoss(
      fmt::format("Line {} of imported file {} ('{}') is no whole record any more: the database is "
                  "damaged. Import the file into another one (--db), or restore this one.",
                  line.number, file.id, file.name));
}

// The parameters for the problem in the newest perf-db that has it.
Result<ImportedParameters> ParametersOf(ImportStore& imports, std::string_view target,
                                        const std::string& find_key) {
  const auto key = ReadFindKey(find_key);
  if (!key) return InvalidArgument(key.error().reason);
  ATTUNE_ASSIGN_OR_RETURN(const auto found, imports.Find(ParametersLookupKey(*key)));
  for (const auto& [file, line] : found) {
    if (file.kind != kPerfDbKind || file.target != target) continue;
    ATTUNE_ASSIGN_OR_RETURN(PerfRecord record, PerfRecordOf(file, line));
    if (!AreParametersFor(find_key, record)) continue;
    return ImportedParameters{file.name, std::move(record.items)};
  }
  return ImportedParameters();
}

std::string ParamsFor(const std::vector<PerfItem>& parameters, std::string_view solver) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [solver](const PerfItem& item) { return item.solver == solver; });
  return found == parameters.end() ? "" : found->params;
}

Status CheckTarget(ImportStore& imports, std::string_view target) {
  ATTUNE_ASSIGN_OR_RETURN(const auto targets, ImportedTargets(imports));
  if (std::binary_search(targets.begin(), targets.end(), target)) return Status::Ok();
  return NotFound(fmt::format("Nothing was imported for '{}'. {}", target,
                              targets.empty() ? "'attune miopen import FILE' does it."
                                              : fmt::format("Targets with imported databases: {}.",
                                                            fmt::join(targets, ", "))));
}

// Returns true if parsing kept all of `line`: after losing an item, the others would answer as if
// it had never been. Times that are no longer credible are an exception: they are left out as when
// reading the file.
bool IsWhole(const ImportedLine& line, const Findings& findings) {
  return line.text.find_first_of("\r\n") == std::string::npos &&
         std::none_of(findings.kept().begin(), findings.kept().end(), [](const Finding& finding) {
           return IsLeftOut(finding.kind) && finding.kind != FindingKind::kImpossibleTime;
         });
}

// The reason for each time in `line`, a record of a find-db, that is no longer credible.
std::vector<std::string> NoLongerBelieved(const ImportedLine& line) {
  Findings findings;
  ReadFindDb(line.text, findings);
  std::vector<std::string> reasons;
  for (const Finding& finding : findings.kept()) {
    if (finding.kind == FindingKind::kImpossibleTime) reasons.push_back(finding.reason);
  }
  return reasons;
}

}  // namespace

std::string BackendOf(const ImportedFile& file) {
  const auto name = ParseFileName(file.name);
  return name.ok() ? name->backend : "";
}

bool IsSecond(const ImportedFile& file) { return BackendOf(file) == "OpenCL"; }

Result<FindRecord> FindRecordOf(const ImportedFile& file, const ImportedLine& line) {
  Findings findings;
  FindDb db = ReadFindDb(line.text, findings);
  if (!IsWhole(line, findings)) return Damaged(file, line);
  // The reader drops a record that lost all its items.
  if (db.records.empty() && findings.count(FindingKind::kImpossibleTime) > 0) {
    db.records.push_back({line.text.substr(0, line.text.find('=')), {}, 0});
  }
  if (db.records.size() != 1) return Damaged(file, line);
  FindRecord& record = db.records.front();
  record.line = static_cast<uint64_t>(line.number);
  return std::move(record);
}

Result<PerfRecord> PerfRecordOf(const ImportedFile& file, const ImportedLine& line) {
  Findings findings;
  PerfDb db = file.kind == kBatchNormDbKind ? ReadBatchNormDb(line.text, findings)
                                            : ReadPerfDb(line.text, findings);
  if (db.records.size() != 1 || !IsWhole(line, findings)) return Damaged(file, line);
  PerfRecord& record = db.records.front();
  record.line = static_cast<uint64_t>(line.number);
  return std::move(record);
}

bool AreParametersFor(std::string_view find_key, const PerfRecord& record) {
  // Keys of find-dbs have a '-' and the others have none.
  const bool is_whole_key = record.key.find('-') != std::string::npos;
  return !is_whole_key || record.key == find_key;
}

ImportedAnswer AnswerOf(const ImportedFile& file, const PerfRecord& parameters) {
  ImportedAnswer answer;
  answer.file = file.name;
  answer.line = static_cast<int64_t>(parameters.line);
  answer.parameters_file = file.name;
  answer.imported_unix_ns = file.imported_unix_ns;
  for (const PerfItem& item : parameters.items) {
    answer.notes.push_back(
        IsBatchNormSolver(item.solver)
            ? fmt::format("{} has parameters {}, and MIOpen keeps no times of batch norms.",
                          item.solver, item.params)
            : fmt::format("{} is passed over: MIOpen has no such solver of batch norms.",
                          item.solver));
  }
  return answer;
}

ImportedAnswer AnswerOf(const ImportedFile& file, const FindRecord& record,
                        const ImportedParameters& parameters) {
  ImportedAnswer answer;
  answer.file = file.name;
  answer.line = static_cast<int64_t>(record.line);
  answer.imported_unix_ns = file.imported_unix_ns;
  const auto key = ReadFindKey(record.key);
  if (!key) return answer;
  for (const FindItem& item : Converted(record, Generation::kSolvers).items) {
    if (const std::string why = WhyPassedOver(item, key->direction); !why.empty()) {
      answer.notes.push_back(
          fmt::format("{} ({} ms) is passed over: {}.", item.solver, item.time, why));
      continue;
    }
    std::string params = ParamsFor(parameters.items, item.solver);
    if (!params.empty()) answer.parameters_file = parameters.file;
    answer.ranking.push_back(
        {{item.solver, std::move(params)}, item.time_ms * 1e6, item.workspace_bytes});
  }
  return answer;
}

Problem MeantByImports(const Problem& problem) {
  if (const auto* const norm = problem.As<BatchNorm>(); norm != nullptr) {
    return MeantByKeyOf(*norm);
  }
  const auto* const conv = problem.As<Conv>();
  return conv == nullptr ? problem : MeantByKeyOf(*conv);
}

Result<std::vector<std::string>> ImportedTargets(ImportStore& imports) {
  ATTUNE_ASSIGN_OR_RETURN(const auto files, imports.Files());
  std::set<std::string> targets;
  for (const ImportedFile& file : files) targets.insert(file.target);
  return std::vector<std::string>(targets.begin(), targets.end());
}

Result<std::optional<ImportedAnswer>> AskImports(ImportStore& imports, std::string_view target,
                                                 const Problem& problem) {
  const bool is_batch_norm = problem.As<BatchNorm>() != nullptr;
  const std::string_view kind = is_batch_norm ? kBatchNormDbKind : kFindDbKind;
  ATTUNE_ASSIGN_OR_RETURN(const auto found, NewestMeant(imports, target, kind, problem));
  if (!found.has_value()) {
    ATTUNE_RETURN_IF_ERROR(CheckTarget(imports, target));
    return std::optional<ImportedAnswer>();
  }
  const auto& [file, line] = *found;
  if (is_batch_norm) {
    ATTUNE_ASSIGN_OR_RETURN(const PerfRecord parameters, PerfRecordOf(file, line));
    return std::optional(AnswerOf(file, parameters));
  }
  ATTUNE_ASSIGN_OR_RETURN(const FindRecord record, FindRecordOf(file, line));
  ATTUNE_ASSIGN_OR_RETURN(const auto parameters, ParametersOf(imports, target, record.key));
  ImportedAnswer answer = AnswerOf(file, record, parameters);
  for (const std::string& reason : NoLongerBelieved(line)) {
    answer.notes.push_back(fmt::format("{} {}", reason, kNoLongerBelieved));
  }
  return std::optional(std::move(answer));
}

}  // namespace attune::miopen
