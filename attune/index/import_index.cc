#include "attune/index/import_index.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/file_name.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/index/index_builder.h"
#include "attune/index/index_file.h"
#include "attune/index/index_writer.h"
#include "attune/index/turn_file.h"
#include "attune/problem/escaping.h"

namespace attune {
namespace {

constexpr std::string_view kBackend = "miopen";
constexpr const char* kFileField = "import.file";
constexpr const char* kParametersField = "import.parameters";

struct KeyHash {
  size_t operator()(const Fingerprint& key) const { return key.low; }
};

bool Matters(const ImportedFile& file, std::string_view target) {
  return file.target == target &&
         (file.kind == miopen::kFindDbKind || file.kind == miopen::kPerfDbKind);
}

// Reads the files of one target, the newest first: a newer entry hides an older one, as in
// AskImports.
class TargetReader {
 public:
  TargetReader(ImportStore& imports, std::string_view target)
      : imports_(imports), target_(std::make_shared<const Target>(ImportTargetOf(target))) {}

  // `file` must outlive this.
  Status ReadParameters(const ImportedFile& file) {
    return imports_.Visit(file.id, [&](const ImportedLine& line) {
      parameters_[line.key].push_back({&file, line});
      return Status::Ok();
    });
  }

  Status ReadRecords(const ImportedFile& file) {
    return imports_.Visit(file.id,
                          [&](const ImportedLine& line) { return ReadRecord(file, line); });
  }

  const IndexBuilder& builder() const { return builder_; }

 private:
  struct ParameterLine {
    const ImportedFile* file = nullptr;  // Borrowed from the caller.
    ImportedLine line;
  };

  Status ReadRecord(const ImportedFile& file, const ImportedLine& line) {
    ATTUNE_ASSIGN_OR_RETURN(const miopen::FindRecord record, miopen::FindRecordOf(file, line));
    const auto key = miopen::ReadFindKey(record.key);
    if (!key) return Status::Ok();
    const auto conv = miopen::ProblemOf(*key);
    // A record without a problem can never be looked up.
    if (!conv.ok() || !seen_.insert(line.key).second) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const auto parameters, ParametersOf(record.key, *key));
    const miopen::ImportedAnswer answer = miopen::AnswerOf(file, record, parameters);
    // Marked as seen all the same: an older file must not answer instead.
    if (answer.ranking.empty()) return Status::Ok();
    IndexedChoice choice = ChoiceOf(answer);
    choice.target = target_;
    choice.revision = file.revision;
    return builder_.Add(*conv, choice);
  }

  // `key` is the parsed `find_key`.
  Result<miopen::ImportedParameters> ParametersOf(const std::string& find_key,
                                                  const miopen::FindKey& key) const {
    if (parameters_.empty()) return miopen::ImportedParameters();
    const auto found = parameters_.find(miopen::ParametersLookupKey(key));
    if (found == parameters_.end()) return miopen::ImportedParameters();
    for (const auto& [file, line] : found->second) {
      ATTUNE_ASSIGN_OR_RETURN(miopen::PerfRecord record, miopen::PerfRecordOf(*file, line));
      if (miopen::AreParametersFor(find_key, record))
        return miopen::ImportedParameters{file->name, std::move(record.items)};
    }
    return miopen::ImportedParameters();
  }

  ImportStore& imports_;
  const std::shared_ptr<const Target> target_;
  // Lines of perf-dbs by lookup key, the newest first.
  std::unordered_map<Fingerprint, std::vector<ParameterLine>, KeyHash> parameters_;
  std::unordered_set<Fingerprint, KeyHash> seen_;
  IndexBuilder builder_;
};

std::string FileIn(const IndexedChoice& choice, const char* field) {
  const auto file = choice.environment->find(field);
  return file == choice.environment->end() ? "" : file->second;
}

bool IsUpToDate(const std::filesystem::path& path, const IndexIdentity& identity,
                int64_t& problems) {
  // The reason why an old file is unreadable does not matter: it is made anew.
  const auto old = ChoiceIndex::Open(path);
  if (!old.ok() || (*old)->identity() != identity || !(*old)->file().CheckAll().ok()) return false;
  problems = (*old)->problem_count();
  return true;
}

}  // namespace

std::filesystem::path ImportIndexPathOf(std::string_view database, std::string_view target) {
  // "attune.db.index" with the target before its ending, escaped so that it cannot name a folder.
  return IndexPathOf(database).replace_extension(fmt::format(".{}.index", Escaped(target)));
}

Target ImportTargetOf(std::string_view name) {
  Target target;
  target.backend = kBackend;
  target.device = name;
  // The user may have named any word as the target of an import.
  const auto gpu = miopen::ParseTargetName(name);
  if (!gpu.ok()) return target;
  target.arch = gpu->arch;
  target.compute_units = gpu->compute_units;
  return target;
}

int64_t ImportRevisionOf(std::span<const ImportedFile> files, std::string_view target) {
  int64_t revision = 0;
  for (const ImportedFile& file : files) {
    if (Matters(file, target)) revision = std::max(revision, file.revision);
  }
  return revision;
}

IndexedChoice ChoiceOf(const miopen::ImportedAnswer& answer) {
  IndexedChoice choice;
  Environment files = {{kFileField, answer.file}};
  if (!answer.parameters_file.empty()) files.emplace(kParametersField, answer.parameters_file);
  choice.environment = std::make_shared<const Environment>(std::move(files));
  choice.started_unix_ns = answer.imported_unix_ns;
  for (const miopen::ImportedCandidate& each : answer.ranking) {
    if (choice.ranking.size() == kMaxRanked) break;
    choice.ranking.push_back(
        {miopen::CandidateOf(each.choice), each.time_ns, each.workspace_bytes, 0, 0});
  }
  return choice;
}

std::string ImportedFileOf(const IndexedChoice& choice) { return FileIn(choice, kFileField); }

std::string ParametersFileOf(const IndexedChoice& choice) {
  return FileIn(choice, kParametersField);
}

Result<ImportIndexRefresh> RefreshImportIndex(ImportStore& imports, const ImportIndexKey& key,
                                              const std::filesystem::path& path) {
  ATTUNE_ASSIGN_OR_RETURN(TurnFile turn, TurnFile::Take(path, kIndexPatienceMs));
  // Files that are finished from here on are newer, and the next refresh finds them.
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<ImportedFile> files, imports.Files());
  ImportIndexRefresh refresh;
  refresh.identity = {key.database_id, ImportRevisionOf(files, key.target)};
  if (IsUpToDate(path, refresh.identity, refresh.problems)) {
    refresh.unchanged = true;
    return refresh;
  }
  TargetReader reader(imports, key.target);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (!Matters(*file, key.target) || file->kind != miopen::kPerfDbKind) continue;
    ATTUNE_RETURN_IF_ERROR(reader.ReadParameters(*file));
  }
  for (const bool second : {false, true}) {
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      if (!Matters(*file, key.target) || file->kind != miopen::kFindDbKind) continue;
      if (miopen::IsSecond(*file) != second) continue;
      ATTUNE_RETURN_IF_ERROR(reader.ReadRecords(*file));
    }
  }
  refresh.problems = reader.builder().problem_count();
  ATTUNE_ASSIGN_OR_RETURN(const std::string bytes, reader.builder().Bytes(refresh.identity));
  ATTUNE_RETURN_IF_ERROR(turn.Replace(bytes));
  return refresh;
}

}  // namespace attune
