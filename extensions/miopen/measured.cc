#include "extensions/miopen/measured.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/session/golden_validity.h"
#include "attune/session/golden_records.h"
#include "attune/session/solver_table.h"
#include "extensions/miopen/newest_results.h"

namespace attune::miopen {
namespace {

RecordQuery FinalsQuery() {
  RecordQuery query;
  query.finished_only = true;
  query.roles = {TrialRole::kFinal};
  return query;
}

// The state of the caches for the finished sets of the session. Nothing if none is finished;
// kInvalidArgument if there are several states.
Result<std::optional<CacheState>> FinishedState(RecordStore& own) {
  std::set<CacheState> states;
  ATTUNE_RETURN_IF_ERROR(own.Visit(FinalsQuery(), [&](const RecordedSet& recorded) {
    const bool is_timed =
        std::any_of(recorded.records.begin(), recorded.records.end(),
                    [](const Record& record) { return record.trial.measurement() != nullptr; });
    if (is_timed) states.insert(recorded.set.cache);
    return Status::Ok();
  }));
  if (states.empty()) return std::optional<CacheState>();
  if (states.size() == 1) return std::optional(*states.begin());
  std::set<std::string_view> names;
  for (const CacheState state : states) names.insert(Name(state));
  return InvalidArgument(fmt::format(
      "The session has results with caches in several states, which one database cannot tell "
      "apart: {}. Name one with --cache.",
      fmt::join(names, ", ")));
}

// Measurements with another cache state say nothing about this one, whatever their result.
Status AddSets(RecordStore& own, std::optional<CacheState> cache, NewestResults& newest) {
  return own.Visit({}, [&](const RecordedSet& recorded) {
    if (!cache.has_value() || recorded.set.cache == *cache) newest.Add(recorded);
    return Status::Ok();
  });
}

}  // namespace

Result<MeasuredResults> MeasuredInSession(Application& application, const std::string& cache) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * own, application.StoreToRead());
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable table, application.sessions()->Solvers(session.id));
  NewestResults newest([&table](const SolverId& solver, const Environment& environment) {
    return ReasonStale(table, solver, CodeOf(solver.name, environment));
  });
  std::optional<CacheState> state = ParseCacheState(cache);
  if (!state.has_value()) {
    ATTUNE_ASSIGN_OR_RETURN(state, FinishedState(*own));
  }
  ATTUNE_RETURN_IF_ERROR(AddSets(*own, state, newest));
  MeasuredResults measured;
  measured.arch = session.terms.arch;
  measured.target = session.terms.target;
  measured.results = newest.Take(measured.left_out);
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
  MeasuredResults measured;
  measured.arch = golden.target.arch;
  measured.target = golden.target;
  ATTUNE_ASSIGN_OR_RETURN(const auto stale, ReasonsStale(application, golden.entries));
  measured.stale = stale.size();
  measured.stale_text = StaleText(stale, golden.entries.size());
  ATTUNE_ASSIGN_OR_RETURN(measured.mixed, MixedEnvironments(application, golden.entries));
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
