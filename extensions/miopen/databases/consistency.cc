#include "extensions/miopen/databases/consistency.h"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/solver_catalogue.h"
#include "attune/problem/text_error.h"
#include "extensions/miopen/databases/kernel_source.h"

namespace attune::miopen {
namespace {

bool HasSolver(const PerfRecord& record, std::string_view solver) {
  return std::any_of(record.items.begin(), record.items.end(),
                     [solver](const PerfItem& item) { return item.solver == solver; });
}

// The records of a perf-db by find-db keys.
class PerfLookup {
 public:
  explicit PerfLookup(const PerfDb& db) : form_(db.form) {
    for (const PerfRecord& record : db.records) entries_.emplace(record.key, Entry{&record});
  }

  // Null if there is none. Caches failed lookups.
  const PerfRecord* Find(const std::string& find_key) {
    std::string key = find_key;
    if (form_ == PerfKeyForm::kPerfKey) {
      const auto parsed = ReadFindKey(find_key);
      if (!parsed) return nullptr;
      key = Text(PerfKeyOf(*parsed));
    }
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    found->second.was_found = true;
    return found->second.record;
  }

  bool WasFound(const PerfRecord& record) const { return entries_.at(record.key).was_found; }

 private:
  struct Entry {
    const PerfRecord* record = nullptr;
    bool was_found = false;
  };

  PerfKeyForm form_;
  std::unordered_map<std::string, Entry> entries_;
};

// The tunable solvers of `record` that have parameters in none of the perf-dbs.
void FindUntuned(const FindRecord& record, std::vector<PerfLookup>& lookups, Findings& findings) {
  std::vector<const PerfRecord*> parameters;
  for (PerfLookup& lookup : lookups) {
    if (const PerfRecord* const found = lookup.Find(record.key)) parameters.push_back(found);
  }
  for (const FindItem& item : record.items) {
    const SolverFacts* const solver = FindSolver(item.solver);
    if (solver == nullptr || !solver->is_tunable) continue;
    const bool is_tuned =
        std::any_of(parameters.begin(), parameters.end(),
                    [&item](const PerfRecord* each) { return HasSolver(*each, item.solver); });
    if (is_tuned) continue;
    findings.Add(FindingKind::kNoPerfRow, record.line,
                 fmt::format("{} of '{}'.", item.solver, record.key));
  }
}

// "conv3x3.s" of "conv3x3.s.o".
std::string_view SourceOf(std::string_view kernel) {
  if (kernel.ends_with(".o")) kernel.remove_suffix(2);
  return kernel;
}

}  // namespace

void CheckParameters(std::span<const CheckedFindDb> find_dbs,
                     std::span<const CheckedPerfDb> perf_dbs) {
  if (find_dbs.empty() || perf_dbs.empty()) return;
  std::vector<PerfLookup> lookups;
  for (const CheckedPerfDb& each : perf_dbs) lookups.emplace_back(each.db);
  for (const CheckedFindDb& each : find_dbs) {
    for (const FindRecord& record : each.db.records) {
      FindUntuned(record, lookups, each.findings);
    }
  }
  for (size_t i = 0; i < perf_dbs.size(); ++i) {
    for (const PerfRecord& record : perf_dbs[i].db.records) {
      if (lookups[i].WasFound(record)) continue;
      for (const PerfItem& item : record.items) {
        perf_dbs[i].findings.Add(FindingKind::kNoFindRecord, record.line,
                                 fmt::format("{} of '{}'.", Quoted(item.solver), record.key));
      }
    }
  }
}

void CheckKernels(std::span<const CheckedFindDb> find_dbs, std::span<const NamedKernel> kernels,
                  Findings& of_kernels) {
  std::set<std::string_view> sources;
  for (const NamedKernel& kernel : kernels) sources.insert(SourceOf(kernel.name));
  std::set<std::string_view> used;
  for (const CheckedFindDb& each : find_dbs) {
    for (const FindRecord& record : each.db.records) {
      for (const FindItem& item : record.items) used.insert(KernelSourceOf(item.solver));
      const FindItem* const quickest = QuickestAnswer(record);
      if (quickest == nullptr) continue;
      const std::string_view source = KernelSourceOf(quickest->solver);
      if (source.empty() || sources.contains(source)) continue;
      each.findings.Add(
          FindingKind::kNoKernel, record.line,
          fmt::format("{} of '{}' needs one of {}.", quickest->solver, record.key, source));
    }
  }
  for (const NamedKernel& kernel : kernels) {
    const std::string_view source = SourceOf(kernel.name);
    for (const KernelSource& known : KnownKernelSources()) {
      if (known.file != source || used.contains(source)) continue;
      of_kernels.Add(FindingKind::kOrphanedKernel, kernel.id,
                     fmt::format("{} is of {}.", Quoted(kernel.name), known.solver));
    }
  }
}

}  // namespace attune::miopen
