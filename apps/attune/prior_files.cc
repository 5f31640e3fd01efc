#include "apps/attune/prior_files.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/terminal.h"
#include "attune/base/file.h"
#include "attune/formats/tuner_results.h"
#include "attune/problem/own_kernel.h"
#include "storage/sql/servers/database_servers.h"
#include "storage/sql/sql_store.h"

namespace attune {
namespace {

constexpr double kNsPerMs = 1e6;

bool IsDatabase(const std::string& file) {
  if (IsOnServer(file)) return true;
  constexpr std::string_view kHead = "SQLite format 3";
  std::string head(kHead.size(), '\0');
  std::ifstream stream(file, std::ios::binary);
  return stream.read(head.data(), static_cast<std::streamsize>(head.size())) && head == kHead;
}

// Describes the tuned problems that --prior must contain.
std::string WhatIsTuned(std::span<const TaggedProblem> problems) {
  const Problem& first = problems.front().problem;
  if (const auto own = OwnKernelOf(first); IsOwnKernel(first) && own.ok()) {
    return "kernel " + own->name;
  }
  return problems.size() == 1 ? Text(first) : fmt::format("any of {} problems", problems.size());
}

Result<PriorRecords> ReadDatabase(const std::string& file, const Place& place,
                                  std::span<const TaggedProblem> problems) {
  SqlStoreOptions options;
  options.use = StoreUse::kRead;
  options.server_at = DatabaseServerAt;
  ATTUNE_ASSIGN_OR_RETURN(const auto store, OpenSqlStore(file, options));
  return PriorRecords::Read(*store, place.target.backend, problems);
}

// The solver of the user's kernel `problem`; null if the device has none.
const Solver* SolverOf(const Problem& problem, const Place& place) {
  for (const auto& solver : place.backend->solvers()) {
    if (solver->traits().operator_name != kOwnKernelOperator || solver->traits().last_resort) {
      continue;
    }
    if (solver->IsApplicable(problem, place.target).ok()) return solver.get();
  }
  return nullptr;
}

Result<PriorRecords> ReadResults(const std::string& file, const Place& place,
                                 std::span<const TaggedProblem> problems, Output& notes) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string json, ReadFile(file));
  const auto results = ReadTunerResults(json);
  if (!results.ok()) return results.error();
  if (const std::string missing = WhatIsMissing(*results); !missing.empty()) {
    notes.Print(fmt::format("attune tune: --prior {}: {}. Configs read: {}.\n", Printable(file),
                            Printable(missing), results->tried.size()));
  }
  const auto own = std::find_if(problems.begin(), problems.end(), [](const TaggedProblem& tagged) {
    return IsOwnKernel(tagged.problem);
  });
  if (own == problems.end()) {
    return InvalidArgument(
        "results of another tuner are of a kernel that --kernel names. Of other problems a "
        "database of attune can be a prior.");
  }
  const Solver* const solver = SolverOf(own->problem, place);
  if (solver == nullptr) return PriorRecords();
  ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver->Space(own->problem, place.target));
  ATTUNE_RETURN_IF_ERROR(CheckOfKernel(*results, space.parameters()));
  CandidateTimes times;
  for (const TriedConfig& tried : results->tried) {
    std::optional<double> time_ns;
    if (tried.status == "ok") time_ns = tried.time_ms * kNsPerMs;
    times[{solver->id(), tried.config}] = time_ns;
  }
  return PriorRecords::Of(own->problem, std::move(times));
}

Result<PriorRecords> ReadPrior(const std::string& file, const Place& place,
                               std::span<const TaggedProblem> problems, Output& notes) {
  auto prior = IsDatabase(file) ? ReadDatabase(file, place, problems)
                                : ReadResults(file, place, problems, notes);
  if (!prior.ok()) return prior.error().WithContext(fmt::format("--prior {}", Printable(file)));
  const bool helps =
      std::any_of(problems.begin(), problems.end(), [&](const TaggedProblem& tagged) {
        return HasConfigOf(*prior, tagged.problem, place.backend->solvers(), place.target);
      });
  if (helps) return prior;
  return InvalidArgument(fmt::format(
      "--prior {} holds nothing of {} that device '{}' could try: it is for what was recorded of "
      "the same kernel, or of problems that differ in sizes alone, with the same parameters, on "
      "any {} device.",
      Printable(file), WhatIsTuned(problems), place.device_spec, place.target.backend));
}

}  // namespace

Status CheckPriors(const std::vector<std::string>& files, const std::string& searcher,
                   bool seeks_time) {
  if (files.empty()) return Status::Ok();
  if (!seeks_time) {
    return InvalidArgument("--prior is what others know of times: leave it out, or --objective.");
  }
  if (searcher != "exhaustive") return Status::Ok();
  return InvalidArgument("--search exhaustive tries everything in order: leave out --prior.");
}

Result<std::vector<PriorRecords>> ReadPriors(const std::vector<std::string>& files,
                                             const Place& place,
                                             std::span<const TaggedProblem> problems,
                                             Output& notes) {
  std::vector<PriorRecords> priors;
  if (problems.empty()) return priors;
  for (const std::string& file : files) {
    ATTUNE_ASSIGN_OR_RETURN(priors.emplace_back(), ReadPrior(file, place, problems, notes));
  }
  return priors;
}

}  // namespace attune
