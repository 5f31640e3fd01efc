// attune miopen lint: checks databases, and the consistency of those of one GPU.

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "apps/attune/counted.h"
#include "extensions/miopen/databases/consistency.h"
#include "extensions/miopen/miopen_verbs.h"

namespace attune::miopen {
namespace {

constexpr size_t kShown = 3;

struct LintOptions {
  std::vector<std::string> files;
  bool all = false;
  bool json = false;
};

void CheckRecords(std::vector<Database>& databases) {
  for (Database& database : databases) {
    if (HasRecord(database)) continue;
    database.findings.Add(FindingKind::kNoRecord, 0, "Nothing in it can be asked for.");
  }
}

// The databases of one GPU. Those of an unknown GPU form one group.
struct OfOneGpu {
  std::vector<CheckedFindDb> find_dbs;
  std::vector<CheckedPerfDb> perf_dbs;
};

void CheckPairs(std::vector<Database>& databases) {
  std::map<std::string, OfOneGpu> gpus;
  for (Database& database : databases) {
    if (const FindDb* db = database.find_db()) {
      gpus[database.name.target].find_dbs.push_back({*db, database.findings});
    }
    const PerfTables* const tables = database.perf_tables();
    // No find-db has batch norms.
    if (tables == nullptr || database.name.kind == DatabaseKind::kBatchNormDb) continue;
    // Rows of version 1.0.0 name their GPU, under any file name.
    for (const TargetPerfDb& each : tables->targets) {
      const std::string& target = each.target.empty() ? database.name.target : each.target;
      gpus[target].perf_dbs.push_back({each.db, database.findings});
    }
  }
  for (const auto& [target, gpu] : gpus) CheckParameters(gpu.find_dbs, gpu.perf_dbs);
}

// True if kernels for `kernels`, a GPU or a whole architecture, also suit a GPU of `target`.
bool AreFor(std::string_view target, std::string_view kernels) {
  const auto gpu = ParseTargetName(target);
  return target == kernels || (gpu.ok() && gpu->arch == kernels);
}

void CheckKernelDbs(std::vector<Database>& databases) {
  for (Database& database : databases) {
    if (database.kernels() == nullptr) continue;
    std::vector<CheckedFindDb> find_dbs;
    for (Database& other : databases) {
      if (other.find_db() == nullptr || !AreFor(other.name.target, database.name.target)) continue;
      find_dbs.push_back({*other.find_db(), other.findings});
    }
    if (find_dbs.empty()) continue;
    std::vector<NamedKernel> kernels;
    for (const KernelEntry& kernel : *database.kernels()) {
      kernels.push_back({kernel.name, kernel.id});
    }
    CheckKernels(find_dbs, kernels, database.findings);
  }
}

Json LintJson(const std::vector<Database>& databases) {
  Json list = Json::array();
  for (const Database& database : databases) {
    Json json = {{"file", database.path.string()},
                 {"kind", Name(database.name.kind)},
                 {"target", database.name.target}};
    json.update(FindingsJson(database.findings));
    list.push_back(std::move(json));
  }
  return list;
}

// The readable databases, and those damaged as a whole, with empty content.
struct LintedFiles {
  std::vector<Database> databases;
  std::vector<Database> damaged;
};

Status ReadForLint(const std::string& file, LintedFiles& files) {
  Result<Database> database = ReadDatabase(file);
  if (database.ok()) {
    files.databases.push_back(*std::move(database));
    return Status::Ok();
  }
  if (database.status().code() != StatusCode::kDataLoss) return database.error();
  Database& damaged = files.damaged.emplace_back();
  damaged.path = file;
  ATTUNE_ASSIGN_OR_RETURN(damaged.name, ParseFileName(file));
  damaged.findings.Add(FindingKind::kUnreadable, 0, database.error().message());
  return Status::Ok();
}

Result<int> RunLint(Application& application, const LintOptions& options) {
  LintedFiles files;
  for (const std::string& file : options.files) {
    ATTUNE_RETURN_IF_ERROR(ReadForLint(file, files));
  }
  std::vector<Database>& databases = files.databases;
  CheckRecords(databases);
  CheckPairs(databases);
  CheckKernelDbs(databases);
  // Compared with nothing: their missing parts are unknown.
  std::ranges::move(files.damaged, std::back_inserter(databases));
  uint64_t total = 0;
  for (const Database& database : databases) total += database.findings.total();
  if (options.json) {
    application.out().Print(Dump(LintJson(databases)));
    return total == 0 ? kExitDone : kExitPartly;
  }
  for (const Database& database : databases) {
    application.out().Print(fmt::format("{}: {}, {}\n", Printable(database.path.string()),
                                        Headline(database),
                                        Counted(database.findings.total(), "finding")));
    application.out().Print(
        FindingsText(database.findings, options.all ? Findings::kMostKept : kShown));
  }
  return total == 0 ? kExitDone : kExitPartly;
}

}  // namespace

void AddLintVerb(CLI::App& miopen, Invocation& invocation) {
  auto options = std::make_shared<LintOptions>();
  CLI::App* verb =
      AddVerb(miopen, "lint", "Say what is wrong in databases, and between those of one GPU",
              "  attune miopen lint tests/data/miopen/gfx906_60.HIP.fdb.txt "
              "tests/data/miopen/gfx906_60.db\n\n"
              "Exit status: 0 if nothing was found, 3 if something was.");
  verb->add_option("files", options->files, "Databases, told by their names")
      ->required()
      ->type_name("FILE");
  verb->add_flag("--all", options->all, "Show every finding, not the first three of each kind");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunLint(application, *options); };
  });
}

}  // namespace attune::miopen
