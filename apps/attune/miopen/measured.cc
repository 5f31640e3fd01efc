#include "apps/attune/miopen/measured.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/record/select.h"
#include "attune/session/golden_records.h"

namespace attune::miopen {
namespace {

RecordQuery FinalsQuery() {
  RecordQuery query;
  query.finished_only = true;
  query.roles = {TrialRole::kFinal};
  return query;
}

// What was timed in the final and did not fail in it.
std::vector<MeasuredResult> FinalsOf(const RecordedSet& recorded) {
  std::set<std::string> failed;
  for (const Record& record : recorded.records) {
    if (record.trial.failure() != nullptr) failed.insert(Text(record.trial.candidate));
  }
  std::vector<MeasuredResult> results;
  for (const Record& record : recorded.records) {
    const Trial& trial = record.trial;
    const Measurement* const measurement = trial.measurement();
    if (measurement == nullptr || !IsCredible(*measurement, recorded.set.cache)) continue;
    if (failed.contains(Text(trial.candidate))) continue;
    results.push_back(
        {recorded.set.problem, trial.candidate, measurement->median_ns, trial.workspace_bytes});
  }
  return results;
}

}  // namespace

Result<MeasuredResults> MeasuredInSession(Application& application, const std::string& cache) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * own, application.StoreToRead());
  std::map<std::string, std::vector<MeasuredResult>> newest;
  std::set<std::string_view> states;
  ATTUNE_RETURN_IF_ERROR(own->Visit(FinalsQuery(), [&](const RecordedSet& recorded) {
    const bool is_meant = cache.empty() || cache == Name(recorded.set.cache);
    if (is_meant && SelectWithin(recorded, {}).has_value()) {
      states.insert(Name(recorded.set.cache));
      newest.insert_or_assign(Text(recorded.set.problem), FinalsOf(recorded));
    }
    return Status::Ok();
  }));
  if (states.size() > 1) {
    return InvalidArgument(fmt::format(
        "The session has results with caches in several states, which one database cannot tell "
        "apart: {}. Name one with --cache.",
        fmt::join(states, ", ")));
  }
  MeasuredResults measured{{}, application.session()->terms.arch};
  for (auto& [problem, results] : newest) {
    for (MeasuredResult& result : results) measured.results.push_back(std::move(result));
  }
  return measured;
}

Result<MeasuredResults> MeasuredInGolden(Application& application, const std::string& version,
                                         const GoldenPart& part) {
  ATTUNE_ASSIGN_OR_RETURN(const GoldenForTarget golden, OpenGoldenFor(application, version, part));
  const auto records = RecordsOf(golden.entries, application.all_records());
  std::map<std::pair<std::string, std::string>, int64_t> workspaces;  // By set and candidate.
  ATTUNE_RETURN_IF_ERROR(records->Visit(FinalsQuery(), [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      workspaces[{recorded.set.id, Text(record.trial.candidate)}] = record.trial.workspace_bytes;
    }
    return Status::Ok();
  }));
  MeasuredResults measured{{}, golden.target.arch};
  for (const GoldenEntry& entry : golden.entries) {
    const auto found = workspaces.find({entry.set_id, Text(entry.candidate)});
    if (found == workspaces.end()) {
      return DataLoss(fmt::format(
          "Golden version '{}' rests on set {}, which has no final of {} in this database.",
          version, entry.set_id, Text(entry.candidate)));
    }
    measured.results.push_back({entry.problem, entry.candidate, entry.median_ns, found->second});
  }
  return measured;
}

}  // namespace attune::miopen
