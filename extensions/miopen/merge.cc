// attune miopen merge: merges databases of a kind, keeping the fastest of each.

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <system_error>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "apps/attune/replaced_file.h"
#include "extensions/miopen/databases/merge.h"
#include "extensions/miopen/miopen_verbs.h"
#include "extensions/miopen/output.h"
#include "storage/miopen/kernel_table.h"

namespace attune::miopen {
namespace {

constexpr size_t kShown = 5;

struct MergeOptions {
  std::vector<std::string> files;
  OutputForm form;
  std::vector<std::string> times;
  std::string provenance;
  bool json = false;
};

// The result of a merge, for users and programs.
struct Outcome {
  uint64_t records = 0;
  std::vector<uint64_t> taken;            // Items from each of the files.
  std::vector<std::string> conflicts;     // A sentence for each.
  int64_t unused_configs = 0;             // Left out.
  int64_t without_room = 0;               // Left out.
  std::vector<int64_t> other_parameters;  // Per perf-db, left out (kOtherParameters).
  bool lacks_times = false;               // Entries of --times were left out.
  std::string provenance;                 // CSV: key, solver or name, file.

  int64_t lost_parameters() const {
    return std::accumulate(other_parameters.begin(), other_parameters.end(), int64_t{0});
  }
};

// In quotes, because names and files may hold commas; quotes themselves are doubled.
std::string CsvField(std::string_view text) {
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

void AddProvenance(std::string_view key, std::string_view solver, const std::string& file,
                   Outcome& outcome) {
  fmt::format_to(std::back_inserter(outcome.provenance), "{},{},{}\n", CsvField(key),
                 CsvField(solver), CsvField(file));
}

// Adds the source file of each item of a merged find-db or perf-db.
template <class Merged>
void AddSources(const Merged& merged, const MergeOptions& options, Outcome& outcome) {
  for (size_t i = 0; i < merged.sources.size(); ++i) {
    const auto& record = merged.db.records[i];
    for (size_t j = 0; j < record.items.size(); ++j) {
      const size_t source = merged.sources[i][j];
      ++outcome.taken[source];
      AddProvenance(record.key, record.items[j].solver, options.files[source], outcome);
    }
  }
}

// Runs before the merged database is written, which therefore does not exist if this fails.
Status WriteProvenance(Application& application, const Outcome& outcome,
                       const MergeOptions& options) {
  if (options.provenance.empty()) return Status::Ok();
  const std::string content = "key,solver,file\n" + outcome.provenance;
  const Status written = WriteResult(application, options.provenance, content, "--provenance");
  if (written.ok()) return written;
  return Status(written.code(), fmt::format("{} '{}' was not written either.", written.message(),
                                            options.form.file));
}

int64_t ItemCount(const FindDb& db) {
  int64_t count = 0;
  for (const FindRecord& record : db.records) count += std::ssize(record.items);
  return count;
}

// Solvers of `sources` for which the output has no room. None if all sources and the output are of
// the first generation: the fastest of each algorithm is the requested result.
int64_t WithoutRoom(std::span<const FindDb* const> sources, const FindDb& merged) {
  if (GenerationFor({}, sources) == Generation::kAlgorithms) return 0;
  return ItemCount(Merge(sources, Generation::kSolvers).db) - ItemCount(merged);
}

Result<Outcome> MergeFindDbs(Application& application, const std::vector<Database>& databases,
                             const MergeOptions& options) {
  std::vector<const FindDb*> sources;
  for (const Database& database : databases) sources.push_back(database.find_db());
  const Generation generation = GenerationFor(options.form, sources);
  const MergedFindDb merged = Merge(sources, generation);
  if (merged.db.records.empty()) return NothingToWrite(options.form.file);
  Outcome outcome;
  outcome.records = merged.db.records.size();
  if (generation == Generation::kAlgorithms) {
    outcome.without_room = WithoutRoom(sources, merged.db);
  }
  outcome.taken.resize(sources.size());
  AddSources(merged, options, outcome);
  ATTUNE_RETURN_IF_ERROR(WriteProvenance(application, outcome, options));
  ATTUNE_RETURN_IF_ERROR(WriteFindDb(merged.db, generation, options.form).status());
  return outcome;
}

// The first GPU in rows or a name; an architecture, as for kernels, if there is no GPU.
WrittenGpu GpuOf(const std::vector<Database>& databases) {
  WrittenGpu gpu;
  for (const Database& database : databases) {
    const std::string target = TargetOf(database);
    if (target.empty() || (!gpu.target.empty() && !ParseTargetName(target).ok())) continue;
    gpu = {fmt::format("'{}'", database.path.string()), target};
    if (ParseTargetName(target).ok()) break;
  }
  return gpu;
}

// The first backend in a name, without its GPU.
WrittenGpu FirstBackend(const std::vector<Database>& databases) {
  for (const Database& database : databases) {
    if (database.name.backend.empty()) continue;
    return {fmt::format("'{}'", database.path.string()), "", database.name.backend};
  }
  return {};
}

// kInvalidArgument for a database of another GPU than `gpu`: the fastest on one says nothing about
// another.
Status CheckInput(const Database& database, const WrittenGpu& gpu) {
  FileName name = database.name;
  name.claimed_gpu.clear();  // Inputs can have any name.
  name.target = TargetOf(database);
  const Status status = CheckGpu(name, database.path.string(), gpu);
  if (status.ok() || name.target == database.name.target) return status;
  return InvalidArgument(fmt::format("The rows of '{}' are of {}, and {} is of {}.",
                                     database.path.string(), name.target, gpu.source, gpu.target));
}

// The find-dbs of --times, none or as many as perf-dbs, all of `gpu`. Reports unreadable entries in
// `outcome`.
Result<std::vector<Database>> ReadTimes(Application& application, const MergeOptions& options,
                                        const WrittenGpu& gpu, Outcome& outcome) {
  if (!options.times.empty() && options.times.size() != options.files.size()) {
    return InvalidArgument(
        fmt::format("There are {} perf-dbs and {} find-dbs of --times: name one for each, in the "
                    "same order.",
                    options.files.size(), options.times.size()));
  }
  std::vector<Database> times;
  for (const std::string& file : options.times) {
    ATTUNE_ASSIGN_OR_RETURN(times.emplace_back(), ReadDatabase(file));
    if (times.back().find_db() == nullptr) {
      return InvalidArgument(
          fmt::format("'{}' is a {}: --times takes find-dbs.", file, Name(times.back().name.kind)));
    }
    ATTUNE_RETURN_IF_ERROR(CheckInput(times.back(), gpu));
    outcome.lacks_times = ReportLeftOut(times.back(), application) || outcome.lacks_times;
  }
  return times;
}

// Configurations without parameters in databases that have them for no GPU; none of them are
// merged.
int64_t ConfigsOfNoGpu(const std::vector<Database>& databases) {
  uint64_t count = 0;
  for (const Database& database : databases) {
    const PerfTables* const tables = database.perf_tables();
    if (tables == nullptr || tables->schema != PerfSchema::kOneForAll) continue;
    count += database.findings.count(FindingKind::kUnusedConfig);
  }
  return static_cast<int64_t>(count);
}

std::string_view WhyTaken(PerfReason reason) {
  switch (reason) {
    case PerfReason::kFaster:
      return "is no slower";
    case PerfReason::kTimed:
      return "alone has a valid time";
    case PerfReason::kFirst:
      return "stands first";
  }
  return "stands first";
}

Result<Outcome> MergePerfDbs(Application& application, const std::vector<Database>& databases,
                             const MergeOptions& options) {
  const WrittenGpu gpu = GpuOf(databases);
  Outcome outcome;
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<Database> times,
                          ReadTimes(application, options, gpu, outcome));
  const bool is_of_batch_norms = databases.front().name.kind == DatabaseKind::kBatchNormDb;
  const PerfKeyForm form = is_of_batch_norms ? PerfKeyForm::kBatchNormKey : PerfKeyForm::kPerfKey;
  std::vector<PerfDb> dbs;
  for (const Database& database : databases) {
    ATTUNE_ASSIGN_OR_RETURN(const PerfDb* const db, OnlyPerfDb(database));
    ATTUNE_ASSIGN_OR_RETURN(ConvertedPerfDb converted, Converted(*db, form));
    dbs.push_back(std::move(converted.db));
    outcome.other_parameters.push_back(converted.other_parameters);
  }
  std::vector<PerfSource> sources;
  for (size_t i = 0; i < dbs.size(); ++i) {
    sources.push_back({&dbs[i], times.empty() ? nullptr : times[i].find_db()});
  }
  MergedPerfDb merged = Merge(sources);
  if (merged.db.records.empty()) return NothingToWrite(options.form.file);
  outcome.taken.resize(dbs.size());
  AddSources(merged, options, outcome);
  for (const PerfConflict& conflict : merged.conflicts) {
    outcome.conflicts.push_back(fmt::format(
        "{} of '{}': that of {}, which {}, not that of {}", conflict.solver, conflict.key,
        options.files[conflict.taken], WhyTaken(conflict.reason), options.files[conflict.left]));
  }
  ATTUNE_RETURN_IF_ERROR(WriteProvenance(application, outcome, options));
  PerfTables tables;
  tables.targets.push_back({gpu.target, std::move(merged.db)});
  ATTUNE_ASSIGN_OR_RETURN(const WrittenPerfDb written,
                          WritePerfDb(std::move(tables), options.form));
  outcome.records = static_cast<uint64_t>(written.records);
  outcome.unused_configs = written.unused_configs + ConfigsOfNoGpu(databases);
  return outcome;
}

// The first sound kernel of each name and options.
Result<Outcome> MergeKernels(Application& application, const MergeOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const auto writer, KernelWriter::Create(options.form.file));
  Outcome outcome;
  outcome.taken.resize(options.files.size());
  std::map<std::pair<std::string, std::string>, std::pair<std::string, size_t>> owners;
  for (size_t i = 0; i < options.files.size(); ++i) {
    Findings ignored;
    const auto add = [&](const KernelRow& row) -> Status {
      if (!CodeOf(row).ok()) return Status::Ok();
      const auto [owner, is_new] = owners.try_emplace({row.name, row.options}, row.hash, i);
      if (is_new) {
        ++outcome.taken[i];
        AddProvenance(row.name, row.hash, options.files[i], outcome);
        return writer->Add(row);
      }
      if (owner->second.first != row.hash) {
        outcome.conflicts.push_back(
            fmt::format("'{}' with '{}': that of {}, which stands first, not that of {}", row.name,
                        row.options, options.files[owner->second.second], options.files[i]));
      }
      return Status::Ok();
    };
    ATTUNE_RETURN_IF_ERROR(ReadKernels(options.files[i], ignored, add));
  }
  outcome.records = owners.size();
  ATTUNE_RETURN_IF_ERROR(WriteProvenance(application, outcome, options));
  ATTUNE_RETURN_IF_ERROR(writer->Commit());
  return outcome;
}

// Checks that all are of one kind, like the output, and of one GPU where rows or names tell.
Status CheckAlike(const std::vector<Database>& databases, const MergeOptions& options) {
  const FileName& first = databases.front().name;
  ATTUNE_ASSIGN_OR_RETURN(const FileName output, ParseFileName(options.form.file));
  const WrittenGpu gpu = GpuOf(databases);
  const WrittenGpu backend = FirstBackend(databases);
  const auto check_kind = [&](const FileName& name, const std::string& file) -> Status {
    if (name.kind == first.kind) return Status::Ok();
    return InvalidArgument(fmt::format("'{}' is a {} and '{}' a {}: merge databases of one kind.",
                                       options.files.front(), Name(first.kind), file,
                                       Name(name.kind)));
  };
  for (const Database& database : databases) {
    ATTUNE_RETURN_IF_ERROR(check_kind(database.name, database.path.string()));
    ATTUNE_RETURN_IF_ERROR(CheckInput(database, gpu));
    ATTUNE_RETURN_IF_ERROR(CheckInput(database, backend));
  }
  ATTUNE_RETURN_IF_ERROR(check_kind(output, options.form.file));
  ATTUNE_RETURN_IF_ERROR(CheckGpu(output, options.form.file, gpu));
  ATTUNE_RETURN_IF_ERROR(CheckGpu(output, options.form.file, backend));
  ATTUNE_RETURN_IF_ERROR(CheckFormOptions(options.form, output));
  if (options.times.empty() || first.kind == DatabaseKind::kPerfDb) return Status::Ok();
  if (first.kind == DatabaseKind::kBatchNormDb) {
    return InvalidArgument(
        "--times takes find-dbs, and MIOpen keeps no times of batch norms in those: leave it out.");
  }
  return InvalidArgument(fmt::format(
      "--times decides between parameters of perf-dbs, and a {} has none: leave it out.",
      Name(first.kind)));
}

// Checks that no input is overwritten, and that --provenance has a file of its own.
Status CheckOutputs(const MergeOptions& options) {
  for (const std::string& output : {options.form.file, options.provenance}) {
    ATTUNE_RETURN_IF_ERROR(CheckNoInput(output, options.files));
    ATTUNE_RETURN_IF_ERROR(CheckNoInput(output, options.times));
  }
  std::error_code ignored;
  const bool is_one_file =
      options.form.file == options.provenance ||
      std::filesystem::equivalent(options.form.file, options.provenance, ignored);
  if (!is_one_file) return Status::Ok();
  return InvalidArgument(
      fmt::format("'{}' cannot be both the merged database and its --provenance: name another file "
                  "for one of them.",
                  options.provenance));
}

Result<Outcome> MergeAll(Application& application, const std::vector<Database>& databases,
                         const MergeOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckAlike(databases, options));
  ATTUNE_RETURN_IF_ERROR(CheckOutputs(options));
  const DatabaseKind kind = databases.front().name.kind;
  if (kind == DatabaseKind::kFindDb) return MergeFindDbs(application, databases, options);
  if (kind == DatabaseKind::kKernelDb) return MergeKernels(application, options);
  return MergePerfDbs(application, databases, options);
}

void PrintOutcome(const Outcome& outcome, const MergeOptions& options, Output& out) {
  out.Print(fmt::format("{}: {} of {}.\n", Printable(options.form.file),
                        Counted(outcome.records, "record"), Counted(options.files.size(), "file")));
  for (size_t i = 0; i < options.files.size(); ++i) {
    out.Print(fmt::format("{:>9}  from {}\n", outcome.taken[i], Printable(options.files[i])));
  }
  if (outcome.conflicts.empty()) return;
  out.Print(fmt::format("{:>9}  differ between files, and were taken from one\n",
                        outcome.conflicts.size()));
  for (size_t i = 0; i < outcome.conflicts.size() && i < kShown; ++i) {
    out.Print(fmt::format("           {}\n", Printable(outcome.conflicts[i])));
  }
  if (outcome.conflicts.size() <= kShown) return;
  out.Print(fmt::format("           and {} more\n", outcome.conflicts.size() - kShown));
}

// Prints the entries for which the output has no room; returns true if there are any.
bool ReportOutcome(const Outcome& outcome, const MergeOptions& options, Output& err) {
  bool left_out =
      ReportConfigs(static_cast<uint64_t>(outcome.unused_configs), err) || outcome.lacks_times;
  for (size_t i = 0; i < outcome.other_parameters.size(); ++i) {
    left_out =
        ReportOtherParameters(outcome.other_parameters[i], options.files[i], err) || left_out;
  }
  if (outcome.without_room == 0) return left_out;
  err.Print(fmt::format("Left out: {}: {}\n", Counted(outcome.without_room, "result"), kNoRoom));
  return true;
}

Result<int> RunMerge(Application& application, const MergeOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.provenance, "--provenance"));
  std::vector<Database> databases;
  bool left_out = false;
  for (const std::string& file : options.files) {
    ATTUNE_ASSIGN_OR_RETURN(databases.emplace_back(), ReadDatabase(file));
    left_out = ReportLeftOut(databases.back(), application) || left_out;
  }
  ATTUNE_ASSIGN_OR_RETURN(const Outcome outcome, MergeAll(application, databases, options));
  left_out = ReportOutcome(outcome, options, application.err()) || left_out;
  if (options.json) {
    application.out().Print(Dump({{"output", options.form.file},
                                  {"records", outcome.records},
                                  {"files", options.files},
                                  {"taken", outcome.taken},
                                  {"conflicts", outcome.conflicts},
                                  {"without_room", outcome.without_room},
                                  {"unused_configs", outcome.unused_configs},
                                  {"other_parameters", outcome.lost_parameters()}}));
  } else {
    // If provenance goes to standard output, everything else goes to standard error.
    const bool is_taken = options.provenance == kStandardOutput;
    PrintOutcome(outcome, options, is_taken ? application.err() : application.out());
  }
  return left_out ? kExitPartly : kExitDone;
}

}  // namespace

void AddMergeVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* verb = AddVerb(
      miopen, "merge", "Make one database of several of a kind, the fastest of each",
      "  attune miopen merge mine/gfx906_60.HIP.fdb.txt theirs/gfx906_60.HIP.fdb.txt -o "
      "gfx906_60.HIP.fdb.txt --provenance from.csv\n\n"
      "All have to be of one GPU, which the rows of a perf-db of version 1.0.0 tell, and else "
      "names.\n\n"
      "Exit status: 0, or 3 if something could not be read, or has no room in the output, and was "
      "left out.");
  verb->add_option("files", options->files, "Databases of one kind, told by their names")
      ->required()
      ->type_name("FILE");
  AddOutputOption(*verb, options->form.file, "Where the merged one goes");
  AddFormOptions(*verb, options->form, "2 if one of the files is of it");
  verb->add_option("--times", options->times,
                   "For perf-dbs: the find-db of each, in the same order, whose fastest valid time "
                   "decides; without, the first to name parameters wins")
      ->type_name("FILE");
  verb->add_option("--provenance", options->provenance,
                   "Write from which file each entry is, as CSV; - is standard output")
      ->type_name("FILE");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunMerge(application, *options);
    };
  });
}

}  // namespace attune::miopen
