// attune miopen export: databases for MIOpen, of what was imported.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "apps/attune/miopen/miopen_verbs.h"
#include "apps/attune/miopen/output.h"
#include "attune/miopen/import_lines.h"
#include "attune/miopen/imported_choice.h"
#include "storage/miopen/kernel_table.h"

namespace attune::miopen {
namespace {

struct ExportOptions {
  std::string target;
  bool find_db = false;
  bool perf_db = false;
  bool kernel_db = false;
  OutputForm form;
  bool json = false;
};

// Files of one kind for the target, oldest first. kNotFound if there is none.
Result<std::vector<ImportedFile>> FilesOf(ImportStore& imports, std::string_view kind,
                                          const std::string& target) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<ImportedFile> files, imports.Files());
  std::set<std::string> targets;
  for (const ImportedFile& file : files) {
    if (file.kind == kind) targets.insert(file.target);
  }
  std::erase_if(
      files, [&](const ImportedFile& file) { return file.kind != kind || file.target != target; });
  if (!files.empty()) return files;
  std::string known;
  for (const std::string& each : targets) known += (known.empty() ? "" : ", ") + each;
  return NotFound(fmt::format("No {} was imported for '{}'. {}", kind, target,
                              known.empty() ? "'attune miopen import FILE' does it."
                                            : "Targets that have one: " + known + "."));
}

// The records of all of `files` as text: of a key that several have, the newest file's.
Result<std::string> NewestRecords(ImportStore& imports, const std::vector<ImportedFile>& files) {
  std::map<std::string, std::string> records;
  for (const ImportedFile& file : files) {
    ATTUNE_RETURN_IF_ERROR(imports.Visit(file.id, [&](const ImportedLine& line) {
      records.insert_or_assign(line.text.substr(0, line.text.find('=')), line.text);
      return Status::Ok();
    }));
  }
  std::string text;
  for (const auto& [key, record] : records) text += record + '\n';
  return text;
}

Result<size_t> ExportFindDb(const std::string& text, const OutputForm& form) {
  Findings known_from_the_import;
  const FindDb db = ReadFindDb(text, known_from_the_import);
  ATTUNE_RETURN_IF_ERROR(WriteFindDb(db, GenerationFor(form, db), form.file));
  return db.records.size();
}

Result<size_t> ExportPerfDb(const std::string& text, const ExportOptions& options) {
  Findings known_from_the_import;
  PerfTables tables;
  tables.targets.push_back({options.target, ReadPerfDb(text, known_from_the_import)});
  const size_t count = tables.targets.front().db.records.size();
  ATTUNE_RETURN_IF_ERROR(WritePerfDb(std::move(tables), options.form));
  return count;
}

// Oldest first, so that the newest of the same name and options stays.
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

std::string_view KindOf(const ExportOptions& options) {
  if (options.kernel_db) return kKernelDbKind;
  return options.perf_db ? kPerfDbKind : kFindDbKind;
}

Result<size_t> Export(ImportStore& imports, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto files, FilesOf(imports, KindOf(options), options.target));
  if (options.kernel_db) return ExportKernels(imports, files, options.form.file);
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, NewestRecords(imports, files));
  return options.perf_db ? ExportPerfDb(text, options) : ExportFindDb(text, options.form);
}

Result<int> RunExport(Application& application, const ExportOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(ImportStore * imports, application.ImportsToRead());
  if (imports == nullptr) {
    return NotFound("Nothing was imported yet. 'attune miopen import FILE' does it.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, Export(*imports, options));
  application.out().Print(options.json
                              ? Dump({{"output", options.form.file},
                                      {"kind", KindOf(options)},
                                      {"target", options.target},
                                      {"records", count}})
                              : fmt::format("{}: {} records of {}.\n", Printable(options.form.file),
                                            count, Printable(options.target)));
  return kExitDone;
}

}  // namespace

void AddExportVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb =
      AddVerb(miopen, "export", "Write databases for MIOpen of what was imported",
              "  attune miopen export --target gfx906_60 --find-db -o gfx906_60.HIP.fdb.txt\n"
              "  attune miopen export --target gfx906_60 --perf-db -o gfx906_60.db.txt");
  verb->add_option("--target", options->target, "The GPU: gfx906_60, gfx90a68")->required();
  auto* kind = verb->add_option_group("kind", "Which database");
  kind->add_flag("--find-db", options->find_db, "Times of solvers");
  kind->add_flag("--perf-db", options->perf_db, "Parameters of solvers; .db or .db.txt");
  kind->add_flag("--kernel-db", options->kernel_db, "Compiled kernels");
  kind->require_option(1);
  verb->add_option("-o,--output", options->form.file, "Where it goes")
      ->required()
      ->type_name("FILE");
  verb->add_option("--generation", options->form.generation,
                   "Of a find-db: 1 or 2 (default: that of what was imported)")
      ->check(CLI::Range(1, 2));
  verb->add_option("--schema", options->form.schema, "Of a perf-db in SQLite")
      ->check(CLI::IsMember({"1.0.0", "1.1.0"}))
      ->capture_default_str();
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunExport(application, *options);
    };
  });
}

}  // namespace attune::miopen
