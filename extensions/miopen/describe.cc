// Shared by several verbs: an option, and how they print a database.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "attune/formats/miopen/bzip2.h"
#include "extensions/miopen/miopen_verbs.h"

namespace attune::miopen {
namespace {

size_t RecordCount(const Database& database) {
  if (const FindDb* db = database.find_db()) return db->records.size();
  if (const KernelList* kernels = database.kernels()) return kernels->size();
  size_t count = 0;
  for (const TargetPerfDb& target : database.perf_tables()->targets) {
    count += target.db.records.size();
  }
  return count;
}

}  // namespace

void AddOutputOption(CLI::App& verb, std::string& file, const std::string& description) {
  const auto check = [](const std::string& name) {
    if (!IsPacked(name)) return std::string();
    return fmt::format("'{}' is the name of a packed file, which is read and never written",
                       Printable(name));
  };
  verb.add_option("-o,--output", file, description)
      ->required()
      ->check(CLI::Validator(check, "FILE"));
}

std::string Headline(const Database& database) {
  const std::string target =
      database.name.target.empty() ? "" : fmt::format(" of {}", database.name.target);
  const char* what = database.name.kind == DatabaseKind::kKernelDb ? "kernel" : "record";
  return fmt::format("{}{}, {}", Name(database.name.kind), target,
                     Counted(RecordCount(database), what));
}

std::string FindingsText(const Findings& findings, size_t shown) {
  std::string text;
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (findings.count(kind) == 0) continue;
    fmt::format_to(std::back_inserter(text), "{:>9}  {}\n", findings.count(kind),
                   Description(kind));
    size_t printed = 0;
    for (const Finding& finding : findings.kept()) {
      if (finding.kind != kind || printed == shown) continue;
      ++printed;
      fmt::format_to(std::back_inserter(text), "           {}: {}\n", finding.line,
                     Printable(finding.reason));
    }
    if (printed < findings.count(kind)) {
      fmt::format_to(std::back_inserter(text), "           and {} more\n",
                     findings.count(kind) - printed);
    }
  }
  return text;
}

Json FindingsJson(const Findings& findings, size_t shown) {
  Json counts = Json::object();
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (findings.count(kind) > 0) counts[std::string(Name(kind))] = findings.count(kind);
  }
  Json kept = Json::array();
  std::array<size_t, kFindingKinds> printed{};
  for (const Finding& finding : findings.kept()) {
    if (printed[static_cast<size_t>(finding.kind)]++ >= shown) continue;
    kept.push_back(
        {{"kind", Name(finding.kind)}, {"line", finding.line}, {"reason", finding.reason}});
  }
  return {{"counts", std::move(counts)}, {"findings", std::move(kept)}};
}

std::string TargetOf(const Database& database) {
  const PerfTables* const tables = database.perf_tables();
  const bool is_told_by_rows =
      tables != nullptr && tables->targets.size() == 1 && !tables->targets.front().target.empty();
  return is_told_by_rows ? tables->targets.front().target : database.name.target;
}

bool HasRecord(const Database& database) {
  if (const FindDb* db = database.find_db()) return !db->records.empty();
  if (const KernelList* kernels = database.kernels()) return !kernels->empty();
  const std::vector<TargetPerfDb>& targets = database.perf_tables()->targets;
  return std::any_of(targets.begin(), targets.end(), [](const TargetPerfDb& each) {
    return std::any_of(each.db.records.begin(), each.db.records.end(),
                       [](const PerfRecord& record) { return !record.items.empty(); });
  });
}

Result<const PerfDb*> OnlyPerfDb(const Database& database) {
  const auto& targets = database.perf_tables()->targets;
  if (targets.size() == 1) return &targets.front().db;
  return Unsupported(
      fmt::format("'{}' has the parameters of {} GPUs; 'attune miopen convert --target' takes one "
                  "of them out.",
                  database.path.string(), targets.size()));
}

Result<int64_t> TakeTarget(PerfTables& tables, const std::string& file, const std::string& target) {
  if (tables.schema != PerfSchema::kOneForAll || target.empty()) return 0;
  int64_t of_others = 0;
  std::string others;
  std::erase_if(tables.targets, [&](const TargetPerfDb& each) {
    if (each.target == target) return false;
    of_others += std::ssize(each.db.records);
    others += (others.empty() ? "" : ", ") + each.target;
    return true;
  });
  if (!tables.targets.empty() || of_others == 0) return of_others;
  return NotFound(
      fmt::format("'{}' has nothing of a GPU '{}', but of: {}. --target names one of these; "
                  "without it, and under a name of no GPU, all are taken.",
                  file, target, others));
}

bool ReportOtherGpus(int64_t records, const std::string& file, const std::string& target,
                     Output& err) {
  if (records == 0) return false;
  err.Print(fmt::format("Left out: {} of {}: Of other GPUs than {}.\n", Counted(records, "record"),
                        Printable(file), Printable(target)));
  return true;
}

bool ReportOtherParameters(int64_t parameters, const std::string& file, Output& err) {
  if (parameters == 0) return false;
  err.Print(fmt::format("Left out: {} of {}: {}\n",
                        Counted(parameters, "set of parameters", "sets of parameters"),
                        Printable(file), kOtherParameters));
  return true;
}

bool ReportLeftOut(const Database& database, Application& application) {
  uint64_t count = 0;
  for (size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (IsLeftOut(kind)) count += database.findings.count(kind);
  }
  if (count == 0) return false;
  application.err().Print(fmt::format("{}: {} left out; 'attune miopen lint' shows {}.\n",
                                      Printable(database.path.string()), Counted(count, "finding"),
                                      count == 1 ? "it" : "them"));
  return true;
}

}  // namespace attune::miopen
