// attune miopen export: databases for MIOpen, of imported or measured results.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/counted.h"
#include "attune/formats/miopen/import_lines.h"
#include "attune/formats/miopen/imported_choice.h"
#include "extensions/miopen/databases/measured_db.h"
#include "extensions/miopen/databases/merge.h"
#include "extensions/miopen/measured.h"
#include "extensions/miopen/miopen_verbs.h"
#include "extensions/miopen/output.h"
#include "extensions/miopen/session_kernels.h"
#include "storage/miopen/kernel_table.h"

namespace attune::miopen {
namespace {

struct ExportOptions {
  std::string session;
  std::string golden;
  std::string cache;   // For `session` or `golden`.
  std::string target;  // The imported GPU, or a target of `golden`.
  bool find_db = false;
  bool perf_db = false;
  bool kernel_db = false;
  bool batch_norm_db = false;
  OutputForm form;
  bool json = false;

  bool is_to_screen() const { return form.file == kStandardOutput; }
};

std::string_view KindOf(const ExportOptions& options) {
  if (options.kernel_db) return kKernelDbKind;
  if (options.batch_norm_db) return kBatchNormDbKind;
  return options.perf_db ? kPerfDbKind : kFindDbKind;
}

DatabaseKind DatabaseOf(const ExportOptions& options) {
  if (options.kernel_db) return DatabaseKind::kKernelDb;
  if (options.batch_norm_db) return DatabaseKind::kBatchNormDb;
  return options.perf_db ? DatabaseKind::kPerfDb : DatabaseKind::kFindDb;
}

// "session 'may'".
std::string SourceText(const ExportOptions& options) {
  if (!options.golden.empty()) return fmt::format("golden version '{}'", options.golden);
  if (!options.session.empty()) return fmt::format("session '{}'", options.session);
  return "what was imported";
}

Status CheckScreen(const ExportOptions& options) {
  const bool is_sqlite = options.kernel_db || options.form.schema.has_value();
  if (!is_sqlite) return CheckJsonHasRoom(options.json, options.form.file);
  return InvalidArgument(fmt::format(
      "A {} in SQLite cannot go to standard output: name a file after -o that ends as {}.",
      Name(DatabaseOf(options)), options.kernel_db ? ".kdb" : ".db"));
}

// The name of the output gives its kind and form, and MIOpen relies on it: kInvalidArgument if the
// content differs.
Result<FileName> CheckedName(const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(FileName name, ParseFileName(options.form.file));
  const DatabaseKind kind = DatabaseOf(options);
  if (name.kind != kind) {
    return InvalidArgument(fmt::format("'{}' is the name of a {}, not of a {}. {}",
                                       options.form.file, Name(name.kind), Name(kind),
                                       NamesOf(kind)));
  }
  ATTUNE_RETURN_IF_ERROR(CheckFormOptions(options.form, name));
  return name;
}

// Checks the GPU of the file, if its name tells, against --target of the imported results.
Status CheckImportedOutput(const ExportOptions& options) {
  if (options.is_to_screen()) return CheckScreen(options);
  ATTUNE_ASSIGN_OR_RETURN(const FileName name, CheckedName(options));
  return CheckGpu(name, options.form.file, {SourceText(options), options.target});
}

// True if an architecture as devices have it, "gfx906:sramecc-:xnack+", has the features in the
// name of a database. A name without features matches all.
bool HasFeatures(const std::string& arch, const std::string& features) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"_sramecc", ":sramecc+"}, {"_nosramecc", ":sramecc-"}, {"_xnack", ":xnack+"}};
  return std::all_of(std::begin(kWords), std::end(kWords), [&](const auto& word) {
    return features.find(word.first) == features.npos || arch.find(word.second) != arch.npos;
  });
}

// The same for measured results, of known architecture and compute units.
Status CheckMeasuredOutput(const ExportOptions& options, const MeasuredResults& measured) {
  if (options.is_to_screen()) return CheckScreen(options);
  ATTUNE_ASSIGN_OR_RETURN(const FileName name, CheckedName(options));
  ATTUNE_RETURN_IF_ERROR(CheckClaimedGpu(name, options.form.file));
  if (name.target.empty()) return Status::Ok();
  ATTUNE_ASSIGN_OR_RETURN(const GpuName gpu, ParseTargetName(name.target));
  const std::string source = SourceText(options);
  if (gpu.arch != measured.arch.substr(0, measured.arch.find(':')) ||
      !HasFeatures(measured.arch, gpu.features)) {
    return AnotherGpu(options.form.file, gpu.arch + gpu.features, {source, measured.arch});
  }
  const int units = measured.target.has_value() ? measured.target->compute_units : 0;
  if (units <= 0 || units == gpu.compute_units) return Status::Ok();
  const std::string expected = TargetName({gpu.arch, gpu.features, units});
  return AnotherGpu(options.form.file, fmt::format("{} compute units", gpu.compute_units),
                    {source, fmt::format("{}: its name would begin with {}", units, expected)});
}

// Keeps the files of one backend: that of the output's name, or the only one.
Status TakeBackend(const ExportOptions& options, std::vector<ImportedFile>& files) {
  const auto name = ParseFileName(options.form.file);
  const std::string wanted = name.ok() ? name->backend : "";
  std::set<std::string> backends;
  for (const ImportedFile& file : files) backends.insert(BackendOf(file));
  backends.erase("");
  if (wanted.empty() && backends.size() < 2) return Status::Ok();
  if (wanted.empty()) {
    return InvalidArgument(fmt::format(
        "What was imported for '{}' is of MIOpen on {}, whose times are not the same. The name of "
        "the output says which is written: {}.{}.fdb.txt.",
        options.target, fmt::join(backends, " and on "), options.target, *backends.begin()));
  }
  std::erase_if(files, [&](const ImportedFile& file) {
    const std::string backend = BackendOf(file);
    return !backend.empty() && backend != wanted;
  });
  if (!files.empty()) return Status::Ok();
  return CheckGpu(*name, options.form.file,
                  {fmt::format("what was imported for '{}'", options.target), options.target,
                   *backends.begin()});
}

// Files of the kind for the target, oldest first. kNotFound if there is none; kInvalidArgument if
// none can exist, because the target is no GPU.
Result<std::vector<ImportedFile>> FilesOf(ImportStore& imports, const ExportOptions& options) {
  const std::string_view kind = KindOf(options);
  const std::string& target = options.target;
  ATTUNE_ASSIGN_OR_RETURN(std::vector<ImportedFile> files, imports.Files());
  std::set<std::string> targets;
  for (const ImportedFile& file : files) {
    if (file.kind == kind) targets.insert(file.target);
  }
  std::erase_if(
      files, [&](const ImportedFile& file) { return file.kind != kind || file.target != target; });
  if (!files.empty()) {
    ATTUNE_RETURN_IF_ERROR(TakeBackend(options, files));
    return files;
  }
  ATTUNE_RETURN_IF_ERROR(CheckTarget(target, DatabaseOf(options)));
  std::string known;
  for (const std::string& each : targets) known += (known.empty() ? "" : ", ") + each;
  return NotFound(fmt::format("No {} was imported for '{}'. {}", kind, target,
                              known.empty() ? "'attune miopen import FILE' does it."
                                            : "Targets that have one: " + known + "."));
}

// kDataLoss if the line is a damaged record: the rest of it would be written as if it were whole.
Status CheckWhole(const ImportedFile& file, const ImportedLine& line) {
  return file.kind == kFindDbKind ? FindRecordOf(file, line).status()
                                  : PerfRecordOf(file, line).status();
}

// The records of all of `files` as text; under a key in several files, the newest file's record.
Result<std::string> NewestRecords(ImportStore& imports, const std::vector<ImportedFile>& files) {
  std::map<std::string, std::string> records;
  for (const ImportedFile& file : files) {
    ATTUNE_RETURN_IF_ERROR(imports.Visit(file.id, [&](const ImportedLine& line) {
      const Status whole = CheckWhole(file, line);
      if (!whole.ok()) return whole;
      records.insert_or_assign(line.text.substr(0, line.text.find('=')), line.text);
      return Status::Ok();
    }));
  }
  std::string text;
  for (const auto& [key, record] : records) text += record + '\n';
  return text;
}

// Counts in `left_out` the items for which the generation has no room.
Status WriteFindDb(const FindDb& db, const OutputForm& form, LeftOut& left_out) {
  const FindDb* const source = &db;
  ATTUNE_ASSIGN_OR_RETURN(const int64_t without_room,
                          WriteFindDb(db, GenerationFor(form, {&source, 1}), form));
  if (without_room > 0) left_out[std::string(kNoRoom)] += without_room;
  return Status::Ok();
}

Result<size_t> ExportFindDb(const std::string& text, const OutputForm& form, LeftOut& left_out) {
  Findings findings;
  const FindDb db = ReadFindDb(text, findings);
  // All other findings were reported at the import, or are damage (CheckWhole).
  const auto disbelieved = static_cast<int64_t>(findings.count(FindingKind::kImpossibleTime));
  if (disbelieved > 0) left_out[std::string(kNoLongerBelieved)] += disbelieved;
  ATTUNE_RETURN_IF_ERROR(WriteFindDb(db, form, left_out));
  return db.records.size();
}

// Merges perf-dbs, newest first, under the current keys.
Result<ConvertedPerfDb> MergedPerfDbs(std::vector<PerfDb> newest_first) {
  std::vector<bool> has_whole_keys;
  std::set<std::string> whole_keys;
  std::vector<PerfSource> sources;
  ConvertedPerfDb all;
  for (PerfDb& db : newest_first) {
    has_whole_keys.push_back(db.form == PerfKeyForm::kFindKey);
    // An entry of a newer database under the same whole key is for the same problem.
    if (has_whole_keys.back()) {
      std::erase_if(db.records, [&whole_keys](const PerfRecord& record) {
        return !whole_keys.insert(record.key).second;
      });
    }
    ATTUNE_ASSIGN_OR_RETURN(ConvertedPerfDb converted, Converted(db, PerfKeyForm::kPerfKey));
    all.other_parameters += converted.other_parameters;
    db = std::move(converted.db);
    sources.push_back({&db, nullptr});
  }
  MergedPerfDb merged = Merge(sources);
  all.other_parameters += std::count_if(
      merged.conflicts.begin(), merged.conflicts.end(), [&](const PerfConflict& conflict) {
        return has_whole_keys[conflict.taken] && has_whole_keys[conflict.left];
      });
  all.db = std::move(merged.db);
  return all;
}

// Merges all of `files`; the newest one decides where they differ. Brings keys of different forms
// to the current one.
Result<ConvertedPerfDb> NewestPerfDb(ImportStore& imports, const std::vector<ImportedFile>& files) {
  Findings known_from_the_import;
  if (files.front().kind == kBatchNormDbKind) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, NewestRecords(imports, files));
    return ConvertedPerfDb{ReadBatchNormDb(text, known_from_the_import), 0};
  }
  std::vector<PerfDb> newest_first;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, NewestRecords(imports, {*file}));
    newest_first.push_back(ReadPerfDb(text, known_from_the_import));
  }
  const bool is_one_form =
      std::all_of(newest_first.begin(), newest_first.end(),
                  [&](const PerfDb& db) { return db.form == newest_first.front().form; });
  if (is_one_form) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string text, NewestRecords(imports, files));
    return ConvertedPerfDb{ReadPerfDb(text, known_from_the_import), 0};
  }
  return MergedPerfDbs(std::move(newest_first));
}

Result<size_t> ExportPerfDb(ImportStore& imports, const std::vector<ImportedFile>& files,
                            const ExportOptions& options, LeftOut& left_out) {
  PerfTables tables;
  ATTUNE_ASSIGN_OR_RETURN(ConvertedPerfDb newest, NewestPerfDb(imports, files));
  tables.targets.push_back({options.target, std::move(newest.db)});
  ATTUNE_ASSIGN_OR_RETURN(const WrittenPerfDb written,
                          WritePerfDb(std::move(tables), options.form));
  const int64_t others = newest.other_parameters + written.other_parameters;
  if (others > 0) left_out[std::string(kOtherParameters)] += others;
  return static_cast<size_t>(written.records);
}

// Oldest first, so that the newest of equal name and options remains.
Result<size_t> ExportKernels(ImportStore& imports, const std::vector<ImportedFile>& files,
                             const std::string& output) {
  ATTUNE_ASSIGN_OR_RETURN(const auto writer, KernelWriter::Create(output));
  std::set<std::pair<std::string, std::string>> written;
  for (const ImportedFile& file : files) {
    KernelAssembler assembler([&](const KernelRow& row) {
      written.emplace(row.name, row.options);
      return writer->Add(row);
    });
    ATTUNE_RETURN_IF_ERROR(
        imports.Visit(file.id, [&](const ImportedLine& line) { return assembler.Add(line); }));
    ATTUNE_RETURN_IF_ERROR(assembler.Finish());
  }
  ATTUNE_RETURN_IF_ERROR(writer->Commit());
  return written.size();
}

Result<size_t> Export(ImportStore& imports, const ExportOptions& options, LeftOut& left_out) {
  ATTUNE_ASSIGN_OR_RETURN(const auto files, FilesOf(imports, options));
  if (options.kernel_db) return ExportKernels(imports, files, options.form.file);
  if (options.perf_db || options.batch_norm_db) {
    return ExportPerfDb(imports, files, options, left_out);
  }
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, NewestRecords(imports, files));
  return ExportFindDb(text, options.form, left_out);
}

Json JsonOf(const LeftOut& left_out) {
  Json reasons = Json::array();
  for (const auto& [reason, results] : left_out) {
    reasons.push_back({{"reason", reason}, {"results", results}});
  }
  return reasons;
}

void PrintLeftOut(Application& application, const LeftOut& left_out) {
  application.out().Flush();
  for (const auto& [reason, results] : left_out) {
    application.err().Print(
        fmt::format("Left out: {}: {}\n", Counted(results, "result"), Printable(reason)));
  }
}

Result<int> ExportImported(Application& application, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(ImportStore * imports, application.ImportsToRead());
  if (imports == nullptr) {
    ATTUNE_RETURN_IF_ERROR(CheckTarget(options.target, DatabaseOf(options)));
    return NotFound("Nothing was imported yet. 'attune miopen import FILE' does it.");
  }
  ATTUNE_RETURN_IF_ERROR(CheckImportedOutput(options));
  LeftOut left_out;
  const Result<size_t> count = Export(*imports, options, left_out);
  // Says why no result is left to write, if so.
  if (!count.ok()) PrintLeftOut(application, left_out);
  ATTUNE_RETURN_IF_ERROR(count.status());
  if (!options.is_to_screen()) {
    application.out().Print(
        options.json ? Dump({{"output", options.form.file},
                             {"kind", KindOf(options)},
                             {"target", options.target},
                             {"records", *count},
                             {"left_out", JsonOf(left_out)}})
                     : fmt::format("{}: {} of {}.\n", Printable(options.form.file),
                                   Counted(*count, "record"), Printable(options.target)));
  }
  PrintLeftOut(application, left_out);
  return left_out.empty() ? kExitDone : kExitPartly;
}

Result<size_t> WriteKernels(Application& application, const ExportOptions& options,
                            const MeasuredResults& measured, LeftOut& left_out) {
  ATTUNE_ASSIGN_OR_RETURN(const auto rows, KernelsInSession(application, measured, left_out));
  if (rows.empty()) return size_t{0};
  ATTUNE_ASSIGN_OR_RETURN(const auto writer, KernelWriter::Create(options.form.file));
  for (const KernelRow& row : rows) ATTUNE_RETURN_IF_ERROR(writer->Add(row));
  ATTUNE_RETURN_IF_ERROR(writer->Commit());
  return rows.size();
}

// Returns the number of records; writes nothing if there are none.
Result<size_t> WriteMeasured(Application& application, const ExportOptions& options,
                             const MeasuredResults& measured, LeftOut& left_out) {
  if (options.kernel_db) return WriteKernels(application, options, measured, left_out);
  if (options.perf_db) {
    PerfTables tables;
    tables.targets.push_back({"", PerfDbOf(measured.results, left_out)});
    const size_t count = tables.targets.front().db.records.size();
    if (count > 0) ATTUNE_RETURN_IF_ERROR(WritePerfDb(std::move(tables), options.form).status());
    return count;
  }
  const FindDb db = FindDbOf(measured.results, left_out);
  if (db.records.empty()) return size_t{0};
  ATTUNE_RETURN_IF_ERROR(WriteFindDb(db, options.form, left_out));
  return db.records.size();
}

// A user that ships a draft must know it: the same command may write something else tomorrow.
Result<bool> IsDraft(Application& application, const ExportOptions& options) {
  if (options.golden.empty()) return false;
  ATTUNE_ASSIGN_OR_RETURN(const GoldenVersion version, application.golden()->Find(options.golden));
  return !version.is_approved();
}

// Warnings for users of the version about its entries.
void PrintValidity(Application& application, const MeasuredResults& measured) {
  application.out().Flush();
  for (const std::string& sentence : measured.mixed) {
    application.err().Print(Printable(sentence) + "\n");
  }
  application.err().Print(measured.stale_text);
}

struct WrittenResults {
  size_t count = 0;
  LeftOut left_out;
  bool is_draft = false;
};

void PrintMeasured(Application& application, const ExportOptions& options,
                   const MeasuredResults& measured, const WrittenResults& written) {
  const auto& [count, left_out, is_draft] = written;
  if (is_draft) {
    application.err().Print(fmt::format(
        "Golden version '{}' is a draft, which may still change; 'attune golden approve' freezes "
        "it.\n",
        Printable(options.golden)));
  }
  if (options.is_to_screen()) return;
  if (!options.json) {
    application.out().Print(fmt::format("{}: {} of {}.\n", Printable(options.form.file),
                                        Counted(count, "record"), Printable(SourceText(options))));
    return;
  }
  application.out().Print(Dump({{"output", options.form.file},
                                {"kind", KindOf(options)},
                                {"session", options.session},
                                {"golden", options.golden},
                                {"draft", is_draft},
                                {"stale", measured.stale},
                                {"mixed", measured.mixed},
                                {"records", count},
                                {"left_out", JsonOf(left_out)}}));
}

// Only fin compiles MIOpen's kernels.
Status NoKernels() {
  return InvalidArgument(
      "attune runs no kernel of MIOpen's but through fin, so that none is in this session or in a "
      "golden version: --kernel-db is of what was imported, which --target names, and of sessions "
      "of fin.");
}

Result<int> ExportMeasured(Application& application, const ExportOptions& options) {
  if (options.batch_norm_db) {
    return InvalidArgument(
        "attune measures no solver of MIOpen's for batch norms, so sessions and golden versions "
        "have none. --batch-norm-db exports what was imported: name its GPU with --target.");
  }
  if (options.kernel_db && options.session.empty()) return NoKernels();
  ATTUNE_ASSIGN_OR_RETURN(
      const MeasuredResults measured,
      options.golden.empty()
          ? MeasuredInSession(application, options.cache)
          : MeasuredInGolden(application, options.golden, {options.target, options.cache}));
  if (options.kernel_db && !IsCompiledByFin(application)) return NoKernels();
  ATTUNE_RETURN_IF_ERROR(CheckMeasuredOutput(options, measured));
  WrittenResults written;
  written.left_out = measured.left_out;
  // Steps that can fail run before the file is written: it would stay.
  ATTUNE_ASSIGN_OR_RETURN(written.is_draft, IsDraft(application, options));
  ATTUNE_ASSIGN_OR_RETURN(written.count,
                          WriteMeasured(application, options, measured, written.left_out));
  if (written.count > 0) PrintMeasured(application, options, measured, written);
  PrintLeftOut(application, written.left_out);
  PrintValidity(application, measured);
  if (written.count > 0) {
    return written.left_out.empty() && measured.stale == 0 ? kExitDone : kExitPartly;
  }
  return FailedPrecondition(fmt::format(
      "Of {} of {} none is for a {} of MIOpen's, so nothing was written.",
      Counted(measured.results.size(), "result"), SourceText(options), Name(DatabaseOf(options))));
}

// Exports results of a session, of a golden version (of one of its targets), or imported ones.
Result<int> RunExport(Application& application, ExportOptions options) {
  options.form.screen = &application.out();
  // Applies to any name of the output, and to standard output.
  FileName asked;
  asked.kind = DatabaseOf(options);
  asked.storage = Storage::kSqlite;
  ATTUNE_RETURN_IF_ERROR(CheckFormOptions(options.form, asked));
  const bool is_measured = !options.session.empty() || !options.golden.empty();
  if (is_measured) return ExportMeasured(application, options);
  if (options.cache.empty()) return ExportImported(application, options);
  return InvalidArgument(
      "Imported databases do not tell of caches: --cache goes with --session and --golden.");
}

void AddSourceOptions(CLI::App& verb, ExportOptions& options, Invocation& invocation) {
  auto* source = verb.add_option_group("source", "What to write, at least one of");
  CLI::Option* target = source->add_option(
      "--target", options.target,
      "What was imported for this GPU: gfx906_60, gfx90a68; with --golden one of its targets");
  CLI::Option* session = AddSessionOption(*source, options.session, invocation,
                                          "What was measured with MIOpen's solvers in the session");
  CLI::Option* golden =
      source->add_option("--golden", options.golden, "The same in this golden version")
          ->check(NameWithin(kMaxSessionNameBytes))
          ->type_name("VERSION");
  session->excludes(target)->excludes(golden);
  source->require_option(1, 2);
  AddGoldenCacheOption(verb, options.cache);
}

}  // namespace

void AddExportVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb = AddVerb(
      miopen, "export", "Write databases for MIOpen of what was imported or measured",
      "  attune miopen export --target gfx906_60 --find-db -o gfx906_60.HIP.fdb.txt\n"
      "  attune miopen export --target gfx906_60 --perf-db -o gfx906_60.db.txt\n\n"
      "Exit status: 0, or 3 if something cannot be written, as results of solvers that are "
      "not MIOpen's,\nseveral of one algorithm in generation 1, or parameters that only the "
      "oldest text tells apart, or\nentries of a golden version are stale; 1 if nothing was "
      "imported for --target, 2 if that is no name\nof a GPU.");
  AddSourceOptions(*verb, *options, invocation);
  auto* kind = verb->add_option_group("kind", "Which database");
  kind->add_flag("--find-db", options->find_db, "Times of solvers");
  kind->add_flag("--perf-db", options->perf_db, "Parameters of solvers; .db or .db.txt");
  kind->add_flag("--batch-norm-db", options->batch_norm_db,
                 "Parameters of solvers for batch norms; of what was imported");
  kind->add_flag("--kernel-db", options->kernel_db,
                 "Compiled kernels; of what was imported, and of sessions of fin");
  kind->require_option(1);
  AddOutputOption(*verb, options->form.file,
                  "Where it goes, by a name of its kind; - writes text to standard output");
  AddFormOptions(*verb, options->form, "that of what was imported; 2 of what was measured");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunExport(application, *options);
    };
  });
}

}  // namespace attune::miopen
