// attune miopen import: copies databases unchanged into the database of attune.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "attune/base/file.h"
#include "attune/base/user_at_host.h"
#include "attune/formats/miopen/bzip2.h"
#include "attune/formats/miopen/import_lines.h"
#include "extensions/miopen/miopen_verbs.h"
#include "extensions/miopen/output.h"
#include "storage/miopen/kernel_table.h"

namespace attune::miopen {
namespace {

// Lines per transaction: other writers must get their turn.
constexpr size_t kLinesAtOnce = 20'000;

// Per kind, with --json. 'attune miopen lint' prints all.
constexpr size_t kShownFindings = 3;

struct ImportOptions {
  std::vector<std::string> files;
  std::string target;
  bool json = false;
};

struct ReadFile {
  Database database;
  int64_t of_other_gpus = 0;  // Records that are left out.
};

// The result for one file, or for its part for one GPU.
struct Imported {
  std::string file;
  std::string_view kind;
  std::string target;
  int64_t records = 0;
  bool was_known = false;  // The same bytes were imported before.
  bool was_older = false;  // A later one was the newest until now.
};

class Importer {
 public:
  explicit Importer(ImportStore& imports) : imports_(imports) {}

  Status Import(const Database& database, const std::string& target) {
    ATTUNE_RETURN_IF_ERROR(BeginFile(database.path));
    if (const FindDb* db = database.find_db()) {
      return Add(kFindDbKind, target, [&] { return AppendAll(LinesOf(*db)); });
    }
    if (database.kernels() != nullptr) {
      return Add(kKernelDbKind, target, [&] { return AppendKernels(database.path); });
    }
    const bool is_of_batch_norms = database.name.kind == DatabaseKind::kBatchNormDb;
    const std::string_view kind = is_of_batch_norms ? kBatchNormDbKind : kPerfDbKind;
    for (const TargetPerfDb& each : database.perf_tables()->targets) {
      const std::string& its_target = each.target.empty() ? target : each.target;
      ATTUNE_RETURN_IF_ERROR(Add(kind, its_target, [&] { return AppendAll(LinesOf(each.db)); }));
    }
    return Status::Ok();
  }

  const std::vector<Imported>& imported() const { return imported_; }

 private:
  Status BeginFile(const std::filesystem::path& path) {
    path_ = path;
    // A database of kernels has hundreds of megabytes. Packed or not, it counts as the same one.
    ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadUnpacked(path, kLargestImport));
    content_ = FingerprintOf(content);
    return Status::Ok();
  }

  template <class Append>
  Status Add(std::string_view kind, const std::string& target, const Append& append) {
    ImportedFile file;
    file.kind = kind;
    file.target = target;
    file.name = path_.filename().string();
    file.content = content_;
    file.imported_by = UserAtHost();
    file.imported_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count();
    ATTUNE_ASSIGN_OR_RETURN(const auto known, imports_.Files());
    const auto same = std::find_if(known.begin(), known.end(), [&](const ImportedFile& each) {
      return each.kind == file.kind && each.target == target && each.content == content_;
    });
    if (same != known.end()) {
      // An import repeated by the user makes its answers the newest.
      ATTUNE_ASSIGN_OR_RETURN(const bool was_older, imports_.Renew(same->id));
      imported_.push_back({path_.string(), kind, target, 0, true, was_older});
      return Status::Ok();
    }
    records_ = 0;
    ATTUNE_ASSIGN_OR_RETURN(id_, imports_.Begin(file));
    ATTUNE_RETURN_IF_ERROR(append());
    ATTUNE_ASSIGN_OR_RETURN(const ImportEnd end, imports_.Finish(id_));
    const bool is_kept = end == ImportEnd::kKept;
    imported_.push_back({path_.string(), kind, target, is_kept ? records_ : 0, !is_kept, false});
    return Status::Ok();
  }

  Status AppendAll(std::span<const ImportedLine> lines) {
    records_ = static_cast<int64_t>(lines.size());
    for (size_t begin = 0; begin < lines.size(); begin += kLinesAtOnce) {
      const size_t count = std::min(kLinesAtOnce, lines.size() - begin);
      ATTUNE_RETURN_IF_ERROR(imports_.Append(id_, lines.subspan(begin, count)));
    }
    return Status::Ok();
  }

  // Appends the kernels that match their hash.
  Status AppendKernels(const std::filesystem::path& path) {
    Findings reported_before;
    return ReadKernels(path, reported_before, [&](const KernelRow& row) -> Status {
      if (!CodeOf(row).ok()) return Status::Ok();
      ++records_;
      return imports_.Append(id_, LinesOf(row));
    });
  }

  static constexpr size_t kLargestImport = size_t{4} << 30;

  ImportStore& imports_;
  std::filesystem::path path_;
  Fingerprint content_;
  int64_t id_ = 0;
  int64_t records_ = 0;
  std::vector<Imported> imported_;  // Complete imports.
};

Json ImportJson(const std::vector<Imported>& imported, const std::vector<ReadFile>& files_read) {
  Json files = Json::array();
  for (const Imported& each : imported) {
    files.push_back({{"file", each.file},
                     {"kind", each.kind},
                     {"target", each.target},
                     {"records", each.records},
                     {"known", each.was_known},
                     {"newest_again", each.was_older}});
  }
  Json findings = Json::array();
  for (const ReadFile& each : files_read) {
    Json json = {{"file", each.database.path.string()}, {"of_other_gpus", each.of_other_gpus}};
    json.update(FindingsJson(each.database.findings, kShownFindings));
    findings.push_back(std::move(json));
  }
  return {{"imported", std::move(files)}, {"findings", std::move(findings)}};
}

void PrintImported(const std::vector<Imported>& imported, Output& out) {
  for (const Imported& each : imported) {
    out.Print(
        each.was_known
            ? fmt::format("{}: known already for {}{}.\n", Printable(each.file),
                          Printable(each.target), each.was_older ? ", and the newest again" : "")
            : fmt::format("{}: {} imported for {}.\n", Printable(each.file),
                          Counted(each.records, each.kind == kKernelDbKind ? "kernel" : "record"),
                          Printable(each.target)));
  }
}

// Before the first import: checks that every file has a valid name, exists and is readable. A GPU
// in the name must be `target`, unless that is empty: times of one GPU would answer for another.
Status CheckFiles(const std::vector<std::string>& files, const std::string& target) {
  for (const std::string& file : files) {
    ATTUNE_ASSIGN_OR_RETURN(const FileName name, ParseFileName(file));
    if (!target.empty()) ATTUNE_RETURN_IF_ERROR(CheckTarget(target, name.kind));
    if (!name.target.empty()) ATTUNE_RETURN_IF_ERROR(CheckGpu(name, file, {"--target", target}));
    ATTUNE_RETURN_IF_ERROR(CheckNoPipe(file));
    // Does not open the file: the writer of a pipe would lose its reader.
    if (::access(file.c_str(), R_OK) != 0) return SystemError("open", file);
    std::error_code ignored;
    if (!std::filesystem::is_directory(file, ignored)) continue;
    errno = EISDIR;
    return SystemError("read", file);
  }
  return Status::Ok();
}

// kInvalidArgument if the GPU of any part is unknown.
Status CheckTold(const Database& database, const std::string& target) {
  bool is_told = !target.empty();
  if (const PerfTables* const tables = database.perf_tables(); tables != nullptr && !is_told) {
    is_told = std::all_of(tables->targets.begin(), tables->targets.end(),
                          [](const TargetPerfDb& each) { return !each.target.empty(); });
  }
  if (is_told) return Status::Ok();
  return InvalidArgument(
      fmt::format("The name of '{}' does not tell of which GPU it is. --target gfx906_60 says so.",
                  database.path.string()));
}

// Reads a database that can be imported.
Result<ReadFile> ReadToImport(const std::string& file, const std::string& asked_target) {
  ReadFile read;
  ATTUNE_ASSIGN_OR_RETURN(read.database, ReadDatabase(file));
  const std::string& target = asked_target.empty() ? read.database.name.target : asked_target;
  ATTUNE_RETURN_IF_ERROR(CheckTold(read.database, target));
  if (auto* const tables = std::get_if<PerfTables>(&read.database.content)) {
    ATTUNE_ASSIGN_OR_RETURN(read.of_other_gpus, TakeTarget(*tables, file, target));
  }
  if (HasRecord(read.database)) return read;
  return FailedPrecondition(
      fmt::format("'{}' holds no record that can be imported. 'attune miopen lint' says what is "
                  "wrong with what it holds, if it holds anything.",
                  file));
}

// Imports one file after another, of which the first is `next`; `files_read` gets the findings of
// each.
Result<bool> ImportAll(Application& application, const ImportOptions& options, ReadFile next,
                       Importer& importer, std::vector<ReadFile>& files_read) {
  bool left_out = false;
  uint64_t unused_configs = 0;
  for (size_t i = 0; i < options.files.size(); ++i) {
    if (i > 0) {
      ATTUNE_ASSIGN_OR_RETURN(next, ReadToImport(options.files[i], options.target));
    }
    ReadFile read = std::move(next);
    Database& database = read.database;
    const std::string& target = options.target.empty() ? database.name.target : options.target;
    ATTUNE_RETURN_IF_ERROR(importer.Import(database, target));
    left_out = ReportLeftOut(database, application) || left_out;
    left_out = ReportOtherGpus(read.of_other_gpus, options.files[i], target, application.err()) ||
               left_out;
    unused_configs += database.findings.count(FindingKind::kUnusedConfig);
    // The content is no longer needed, and may be large.
    database.content = FindDb();
    files_read.push_back(std::move(read));
  }
  return ReportConfigs(unused_configs, application.err()) || left_out;
}

Result<int> RunImport(Application& application, const ImportOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckFiles(options.files, options.target));
  // Before the database of attune is opened, which would be created in vain.
  ATTUNE_ASSIGN_OR_RETURN(ReadFile first, ReadToImport(options.files.front(), options.target));
  ATTUNE_ASSIGN_OR_RETURN(ImportStore * imports, application.imports());
  ATTUNE_RETURN_IF_ERROR(imports->RemoveAbandoned());
  Importer importer(*imports);
  std::vector<ReadFile> files_read;
  const Result<bool> left_out =
      ImportAll(application, options, std::move(first), importer, files_read);
  // Files imported before a failure stay, so they are reported.
  if (!left_out.ok() && importer.imported().empty()) return left_out.status();
  if (options.json) {
    application.out().Print(Dump(ImportJson(importer.imported(), files_read)));
  } else {
    PrintImported(importer.imported(), application.out());
  }
  ATTUNE_RETURN_IF_ERROR(left_out.status());
  return *left_out ? kExitPartly : kExitDone;
}

}  // namespace

void AddImportVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* verb = AddVerb(
      miopen, "import", "Keep databases of MIOpen's beside the records, to be asked and exported",
      "  attune miopen import tests/data/miopen/gfx906_60.HIP.fdb.txt "
      "tests/data/miopen/gfx906_60.db\n"
      "  attune best --target gfx906_60 --problem 'MIOpenDriver conv -n 1 -c 3 -H 223 -W 223 -k 64 "
      "-y 7 -x 7 -p 3 -q 3 -u 2 -v 2 -F 1'\n\n"
      "--json has how many findings of each kind there are, and the first three of each; 'attune "
      "miopen lint'\nshows all.\n\n"
      "Exit status: 0, or 3 if something could not be believed, has no parameters or is of another "
      "GPU than\n--target says, and was left out; 1 if a file holds nothing that can be imported.");
  verb->add_option("files", options->files,
                   "Databases, told by their names; also packed, as NAME.bz2")
      ->required()
      ->type_name("FILE");
  verb->add_option("--target", options->target,
                   "Of which GPU they are, where their names do not say: gfx906_60, gfx90a68; of "
                   "tables whose rows do (version 1.0.0) which one to take")
      ->check(SeenText());
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunImport(application, *options);
    };
  });
}

}  // namespace attune::miopen
