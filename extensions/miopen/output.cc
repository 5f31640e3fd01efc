#include "extensions/miopen/output.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "attune/base/file.h"

namespace attune::miopen {
namespace {

constexpr std::string_view kOneForAllSchema = "1.0.0";

Status WriteText(const OutputForm& form, const std::string& text) {
  if (form.screen == nullptr || form.file != kStandardOutput) {
    return WriteFileAtomically(form.file, text);
  }
  form.screen->Print(text);
  return Status::Ok();
}

Status WritePerfText(const PerfTables& tables, const OutputForm& form) {
  if (tables.targets.size() == 1) return WriteText(form, Text(tables.targets.front().db));
  return InvalidArgument(fmt::format(
      "'{}' cannot have {} GPUs: a perf-db in text is of one. --target takes one of them out.",
      form.file, tables.targets.size()));
}

// No database has both convolutions and batch norms.
DatabaseKind KindOf(const PerfTables& tables) {
  const bool is_of_batch_norms =
      !tables.targets.empty() && tables.targets.front().db.form == PerfKeyForm::kBatchNormKey;
  return is_of_batch_norms ? DatabaseKind::kBatchNormDb : DatabaseKind::kPerfDb;
}

// The parts of the file's name; for standard output, those of a perf-db of `kind`.
Result<FileName> NameOf(const OutputForm& form, DatabaseKind kind) {
  if (form.screen != nullptr && form.file == kStandardOutput) {
    return FileName{kind, Storage::kText, {}, {}, {}, false};
  }
  return ParseFileName(form.file);
}

// Requires names of targets if rows hold them; clears them if the name of the file holds it.
Status FitTargets(PerfTables& tables, const std::string& file) {
  for (TargetPerfDb& target : tables.targets) {
    if (tables.schema == PerfSchema::kOneForTarget) {
      target.target.clear();
      continue;
    }
    if (!target.target.empty()) continue;
    return InvalidArgument(fmt::format(
        "Rows of a perf-db of version 1.0.0 name their GPU, and nothing says which one those for "
        "'{}' are of. A name that begins with it, as gfx906_60.db does, says so.",
        file));
  }
  return Status::Ok();
}

// True if nothing of `tables` would be written. Only tables of version 1.1.0 hold configurations
// without parameters.
bool IsEmptyIn(const PerfTables& tables, Storage storage, const OutputForm& form) {
  const bool keeps_configs = storage == Storage::kSqlite && form.schema != kOneForAllSchema;
  return std::all_of(tables.targets.begin(), tables.targets.end(), [&](const TargetPerfDb& each) {
    return std::all_of(
        each.db.records.begin(), each.db.records.end(),
        [&](const PerfRecord& record) { return record.items.empty() && !keeps_configs; });
  });
}

// The architecture of a GPU, or of kernels for all GPUs of it.
std::string ArchOf(const std::string& target) {
  const auto gpu = ParseTargetName(target);
  return gpu.ok() ? gpu->arch : target;
}

}  // namespace

void AddFormOptions(CLI::App& verb, OutputForm& form, const std::string& default_generation) {
  verb.add_option("--generation", form.generation,
                  fmt::format("Of a find-db: 1 (best of each algorithm, until 2023) or 2 "
                              "(default: {})",
                              default_generation))
      ->check(CLI::Range(1, 2));
  verb.add_option("--schema", form.schema, "Of a perf-db in SQLite (default: 1.1.0)")
      ->check(CLI::IsMember({std::string(kOneForAllSchema), std::string("1.1.0")}));
}

Status CheckFormOptions(const OutputForm& form, const FileName& name) {
  if (form.generation.has_value() && name.kind != DatabaseKind::kFindDb) {
    return InvalidArgument(fmt::format(
        "--generation is of a find-db, and a {} has none: leave it out.", Name(name.kind)));
  }
  if (!form.schema.has_value()) return Status::Ok();
  if (name.kind != DatabaseKind::kPerfDb) {
    return InvalidArgument(fmt::format(
        "--schema is of a perf-db in SQLite, and a {} has none: leave it out.", Name(name.kind)));
  }
  if (name.storage == Storage::kSqlite) return Status::Ok();
  return InvalidArgument(fmt::format(
      "'{}' is the name of a text, and --schema of a perf-db in SQLite, which ends as .db.",
      form.file));
}

std::string_view NamesOf(DatabaseKind kind) {
  switch (kind) {
    case DatabaseKind::kFindDb:
      return "They end as .fdb.txt.";
    case DatabaseKind::kPerfDb:
      return "They end as .db or .db.txt.";
    case DatabaseKind::kKernelDb:
      return "They end as .kdb.";
    case DatabaseKind::kBatchNormDb:
      return "They begin with batchnorm_ and end as .db.txt.";
  }
  return "";
}

Status NothingToWrite(const std::string& file) {
  return FailedPrecondition(
      fmt::format("There is no record to write, so '{}' was not written. 'attune miopen lint' says "
                  "what is wrong with a database, and why records of it are left out.",
                  file));
}

Status CheckClaimedGpu(const FileName& name, const std::string& file) {
  if (name.claimed_gpu.empty() || !name.target.empty()) return Status::Ok();
  return InvalidArgument(fmt::format(
      "The name of '{}' begins as that of a GPU, and '{}' is none, so that MIOpen would never read "
      "it. GPUs are named gfx906_60 for up to 64 compute units in decimal, and gfx90a68 for more "
      "(104) in hexadecimal; kernels also gfx906.",
      file, name.claimed_gpu));
}

Status CheckGpu(const FileName& name, const std::string& file, const WrittenGpu& written) {
  ATTUNE_RETURN_IF_ERROR(CheckClaimedGpu(name, file));
  if (!name.backend.empty() && !written.backend.empty() && name.backend != written.backend) {
    return InvalidArgument(fmt::format(
        "'{}' is the name of a database of MIOpen on {}, and {} is of MIOpen on {}, whose kernels "
        "and times are others.",
        file, name.backend, written.source, written.backend));
  }
  if (name.target.empty() || written.target.empty() || name.target == written.target) {
    return Status::Ok();
  }
  const bool is_of_kernels = name.kind == DatabaseKind::kKernelDb;
  const bool is_whole_arch =
      ArchOf(name.target) == name.target || ArchOf(written.target) == written.target;
  if (is_of_kernels && is_whole_arch && ArchOf(name.target) == ArchOf(written.target)) {
    return Status::Ok();
  }
  return AnotherGpu(file, name.target, written);
}

Status AnotherGpu(const std::string& file, const std::string& named, const WrittenGpu& written) {
  return InvalidArgument(fmt::format("'{}' is the name of a database of {}, and {} is of {}.", file,
                                     named, written.source, written.target));
}

Generation GenerationFor(const OutputForm& form, std::span<const FindDb* const> dbs) {
  if (form.generation.has_value()) {
    return *form.generation == 1 ? Generation::kAlgorithms : Generation::kSolvers;
  }
  bool has_any = false;
  for (const FindDb* db : dbs) {
    for (const FindRecord& record : db->records) {
      has_any = true;
      for (const FindItem& item : record.items) {
        if (item.generation == Generation::kSolvers) return Generation::kSolvers;
      }
    }
  }
  return has_any ? Generation::kAlgorithms : Generation::kSolvers;
}

Result<int64_t> WriteFindDb(const FindDb& db, Generation generation, const OutputForm& form) {
  if (db.records.empty()) return NothingToWrite(form.file);
  FindDb converted;
  converted.records.reserve(db.records.size());
  int64_t left_out = 0;
  for (const FindRecord& record : db.records) {
    converted.records.push_back(Converted(record, generation));
    left_out += std::ssize(record.items) - std::ssize(converted.records.back().items);
  }
  ATTUNE_RETURN_IF_ERROR(WriteText(form, Text(converted)));
  return left_out;
}

Result<WrittenPerfDb> WritePerfDb(PerfTables tables, const OutputForm& form) {
  const DatabaseKind kind = KindOf(tables);
  ATTUNE_ASSIGN_OR_RETURN(const FileName name, NameOf(form, kind));
  if (name.kind != kind) {
    return InvalidArgument(fmt::format("'{}' is the name of a {}, not of a {}. {}", form.file,
                                       Name(name.kind), Name(kind), NamesOf(kind)));
  }
  if (IsEmptyIn(tables, name.storage, form)) return NothingToWrite(form.file);
  const PerfKeyForm keys = kind == DatabaseKind::kBatchNormDb ? PerfKeyForm::kBatchNormKey
                           : name.has_find_keys               ? PerfKeyForm::kFindKey
                                                              : PerfKeyForm::kPerfKey;
  WrittenPerfDb written;
  for (TargetPerfDb& target : tables.targets) {
    ATTUNE_ASSIGN_OR_RETURN(ConvertedPerfDb converted, Converted(target.db, keys));
    target.db = std::move(converted.db);
    written.other_parameters += converted.other_parameters;
    written.records += std::ssize(target.db.records);
    if (target.target.empty()) target.target = name.target;
  }
  if (name.storage == Storage::kText) {
    ATTUNE_RETURN_IF_ERROR(WritePerfText(tables, form));
    const std::vector<PerfRecord>& records = tables.targets.front().db.records;
    written.unused_configs =
        std::count_if(records.begin(), records.end(),
                      [](const PerfRecord& record) { return record.items.empty(); });
    written.records -= written.unused_configs;
    return written;
  }
  tables.schema =
      form.schema == kOneForAllSchema ? PerfSchema::kOneForAll : PerfSchema::kOneForTarget;
  ATTUNE_RETURN_IF_ERROR(FitTargets(tables, form.file));
  ATTUNE_RETURN_IF_ERROR(WritePerfTables(form.file, tables));
  return written;
}

bool ReportConfigs(uint64_t left_out, Output& err) {
  if (left_out == 0) return false;
  err.Print(fmt::format("Left out: {}: {}\n", Counted(left_out, "configuration"), kNoParameters));
  return true;
}

}  // namespace attune::miopen
