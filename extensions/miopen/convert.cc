// attune miopen convert: writes a database in another form.

#include <algorithm>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/replaced_file.h"
#include "extensions/miopen/miopen_verbs.h"
#include "extensions/miopen/output.h"
#include "storage/miopen/kernel_table.h"

namespace attune::miopen {
namespace {

struct ConvertOptions {
  std::string file;
  OutputForm form;
  std::string target;
  bool json = false;
};

// The result for a database.
struct Outcome {
  int64_t written = 0;  // Records or kernels.
  // Left out.
  int64_t without_room = 0;
  int64_t unused_configs = 0;
  int64_t other_parameters = 0;
  int64_t of_other_gpus = 0;
};

Result<Outcome> ConvertFindDb(const FindDb& db, const ConvertOptions& options) {
  // The form that current MIOpen writes, by default.
  OutputForm form = options.form;
  if (!form.generation.has_value()) form.generation = 2;
  const FindDb* const source = &db;
  Outcome outcome;
  ATTUNE_ASSIGN_OR_RETURN(outcome.without_room,
                          WriteFindDb(db, GenerationFor(form, {&source, 1}), form));
  outcome.written = std::ssize(db.records);
  return outcome;
}

Result<Outcome> ConvertPerfDb(const Database& database, const ConvertOptions& options) {
  PerfTables tables = *database.perf_tables();
  Outcome outcome;
  ATTUNE_ASSIGN_OR_RETURN(outcome.of_other_gpus, TakeTarget(tables, options.file, options.target));
  for (TargetPerfDb& each : tables.targets) {
    if (!each.target.empty()) continue;
    each.target = options.target.empty() ? database.name.target : options.target;
  }
  // Configurations of version 1.0.0 belong to no GPU, so `tables` no longer has them.
  const bool is_for_all = tables.schema == PerfSchema::kOneForAll;
  ATTUNE_ASSIGN_OR_RETURN(const WrittenPerfDb written,
                          WritePerfDb(std::move(tables), options.form));
  outcome.written = written.records;
  outcome.other_parameters = written.other_parameters;
  outcome.unused_configs =
      is_for_all ? static_cast<int64_t>(database.findings.count(FindingKind::kUnusedConfig))
                 : written.unused_configs;
  return outcome;
}

// Compresses anew each kernel with code that matches its hash; returns their number.
Result<Outcome> ConvertKernels(const ConvertOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto writer, KernelWriter::Create(options.form.file));
  // Errors in rows were reported when the database was read.
  Findings ignored;
  Outcome outcome;
  ATTUNE_RETURN_IF_ERROR(ReadKernels(options.file, ignored, [&](const KernelRow& row) -> Status {
    const auto code = CodeOf(row);
    if (!code.ok()) return Status::Ok();
    ATTUNE_ASSIGN_OR_RETURN(const KernelRow packed, RowFor(row.name, row.options, *code));
    ++outcome.written;
    return writer->Add(packed);
  }));
  ATTUNE_RETURN_IF_ERROR(writer->Commit());
  return outcome;
}

// The GPU of the output: --target, else from the rows or the name of the input. kInvalidArgument if
// the name says another one than --target.
Result<std::string> GpuOf(const Database& database, const std::string& target) {
  const std::string& named = database.name.target;
  const PerfTables* const tables = database.perf_tables();
  if (tables != nullptr && tables->schema == PerfSchema::kOneForAll) {
    return target.empty() && tables->targets.size() == 1 ? tables->targets.front().target : target;
  }
  if (target.empty() || named.empty()) return target.empty() ? named : target;
  ATTUNE_RETURN_IF_ERROR(CheckGpu(database.name, database.path.string(), {"--target", target}));
  return target;
}

// Checks that the name of the output is of the same kind and GPU as the input.
Status CheckOutput(const Database& database, const ConvertOptions& options) {
  const std::string& file = options.form.file;
  const std::string input = database.path.string();
  ATTUNE_ASSIGN_OR_RETURN(const FileName name, ParseFileName(file));
  if (!options.target.empty()) {
    ATTUNE_RETURN_IF_ERROR(CheckTarget(options.target, database.name.kind));
  }
  if (name.kind != database.name.kind) {
    return InvalidArgument(fmt::format("'{}' is a {} and cannot become '{}', the name of a {}.",
                                       input, Name(database.name.kind), file, Name(name.kind)));
  }
  ATTUNE_RETURN_IF_ERROR(CheckFormOptions(options.form, name));
  ATTUNE_ASSIGN_OR_RETURN(const std::string gpu, GpuOf(database, options.target));
  ATTUNE_RETURN_IF_ERROR(
      CheckGpu(name, file, {fmt::format("'{}'", input), gpu, database.name.backend}));
  const PerfTables* const tables = database.perf_tables();
  const bool is_of_several = tables != nullptr && tables->targets.size() > 1;
  if (!is_of_several || !options.target.empty() || name.target.empty()) return Status::Ok();
  return InvalidArgument(fmt::format(
      "'{}' is the name of a database of {}, and '{}' is of {} GPUs. --target takes one of them "
      "out.",
      file, name.target, input, tables->targets.size()));
}

Result<Outcome> Convert(const Database& database, const ConvertOptions& options) {
  if (const FindDb* db = database.find_db()) return ConvertFindDb(*db, options);
  if (database.kernels() != nullptr) return ConvertKernels(options);
  return ConvertPerfDb(database, options);
}

// True if anything was left out; prints each reason on a line.
bool ReportOutcome(const Outcome& outcome, const ConvertOptions& options, Output& err) {
  bool left_out = ReportConfigs(static_cast<uint64_t>(outcome.unused_configs), err);
  left_out = ReportOtherParameters(outcome.other_parameters, options.file, err) || left_out;
  left_out = ReportOtherGpus(outcome.of_other_gpus, options.file, options.target, err) || left_out;
  if (outcome.without_room == 0) return left_out;
  err.Print(fmt::format("Left out: {}: {}\n", Counted(outcome.without_room, "result"), kNoRoom));
  return true;
}

Result<int> RunConvert(Application& application, const ConvertOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const Database database, ReadDatabase(options.file));
  ATTUNE_RETURN_IF_ERROR(CheckOutput(database, options));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.form.file, {&options.file, 1}));
  ATTUNE_ASSIGN_OR_RETURN(const Outcome outcome, Convert(database, options));
  bool left_out = ReportLeftOut(database, application);
  left_out = ReportOutcome(outcome, options, application.err()) || left_out;
  Json json = {{"file", options.file},
               {"output", options.form.file},
               {"written", outcome.written},
               {"without_room", outcome.without_room},
               {"unused_configs", outcome.unused_configs},
               {"other_parameters", outcome.other_parameters},
               {"of_other_gpus", outcome.of_other_gpus}};
  json.update(FindingsJson(database.findings));
  application.out().Print(options.json
                              ? Dump(json)
                              : fmt::format("{}: {}, {} written to {}.\n", Printable(options.file),
                                            Headline(database), outcome.written,
                                            Printable(options.form.file)));
  return left_out ? kExitPartly : kExitDone;
}

}  // namespace

void AddConvertVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* verb = AddVerb(
      miopen, "convert",
      "Write a database in another form: find-db generations, perf-db tables and texts, kernels",
      "  attune miopen convert tests/data/miopen/gfx906_60.HIP.fdb.txt --generation 2 -o "
      "/tmp/gfx906_60.HIP.fdb.txt\n"
      "  attune miopen convert tests/data/miopen/gfx906_60.db -o /tmp/gfx906_60.db.txt\n\n"
      "Exit status: 0, or 3 if something was left out: what could not be read, what is of another "
      "GPU than\n--target says, or what the form has no room for: generation 1 for all but the "
      "best, a text for\nconfigurations without parameters, keys of today for problems that only "
      "the oldest text tells apart.");
  verb->add_option("file", options->file, "A database, told by its name")
      ->required()
      ->type_name("FILE");
  AddOutputOption(*verb, options->form.file, "Where it goes; its name tells the form");
  AddFormOptions(*verb, options->form, "2");
  verb->add_option("--target", options->target,
                   "The GPU of a perf-db whose name does not tell, or the one to take out of many");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunConvert(application, *options);
    };
  });
}

}  // namespace attune::miopen
