#include "apps/attune/session/golden_validity.h"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/counted.h"
#include "attune/session/golden_records.h"
#include "attune/session/solver_table.h"

namespace attune {

Result<std::map<std::string, Evidence>> EvidenceOf(Application& application,
                                                   const std::vector<GoldenEntry>& entries) {
  std::map<std::string, Evidence> evidence;
  const auto records = RecordsOf(entries, application.all_records());
  RecordQuery query;
  // An entry is of a final; a set has hundreds of other trials.
  query.roles = {TrialRole::kFinal};
  query.with_samples = false;
  const Status ended = records->Visit(query, [&](const RecordedSet& recorded) {
    evidence[recorded.set.id] = {recorded.set.environment, recorded.set.started_unix_ns};
    return Status::Ok();
  });
  if (!ended.ok()) return ended;
  return evidence;
}

Result<std::map<int64_t, std::string>> ReasonsStale(Application& application,
                                                    const std::vector<GoldenEntry>& entries) {
  std::map<int64_t, std::string> reasons;
  if (entries.empty()) return reasons;
  ATTUNE_ASSIGN_OR_RETURN(const auto evidence, EvidenceOf(application, entries));
  ATTUNE_ASSIGN_OR_RETURN(const auto sessions, application.sessions()->List());
  for (const Session& session : sessions) {
    ATTUNE_ASSIGN_OR_RETURN(const SolverTable table, application.sessions()->Solvers(session.id));
    if (table.generation == 0) continue;
    std::map<std::string, bool> is_alike;  // By the session of an entry.
    for (const Session& other : sessions) {
      is_alike[other.name] =
          other.name == session.name || DifferencesBetween(other, session).empty();
    }
    for (const GoldenEntry& entry : entries) {
      if (session.terms.target != entry.target || !is_alike[entry.session]) continue;
      const auto found = evidence.find(entry.set_id);
      const bool is_known = found != evidence.end();
      // An older session does not invalidate later results.
      const int64_t since = is_known ? found->second.started_unix_ns : entry.added_unix_ns;
      if (entry.session != session.name && session.created_unix_ns <= since) continue;
      const SolverId& solver = entry.candidate.solver;
      std::string reason = ReasonStale(
          table, solver, is_known ? CodeOf(solver.name, found->second.environment) : UnknownCode());
      if (!reason.empty()) reasons.insert_or_assign(entry.id, std::move(reason));
    }
  }
  return reasons;
}

Result<std::vector<std::string>> MixedEnvironments(Application& application,
                                                   const std::vector<GoldenEntry>& entries) {
  std::map<std::string, std::set<std::string>> sessions;  // By the text of the target.
  for (const GoldenEntry& entry : entries) sessions[Text(entry.target)].insert(entry.session);
  std::vector<std::string> sentences;
  for (const auto& [target, names] : sessions) {
    std::vector<Session> distinct;
    for (const std::string& name : names) {
      ATTUNE_ASSIGN_OR_RETURN(const Session session, application.sessions()->Find(name));
      bool is_known = false;
      for (const Session& other : distinct) {
        is_known = is_known || DifferencesBetween(other, session).empty();
      }
      if (is_known) continue;
      if (!distinct.empty()) {
        sentences.push_back(fmt::format(
            "Entries for {} are of different environments, whose times are not comparable: {}.",
            target, fmt::join(DifferencesBetween(distinct.front(), session), "; ")));
      }
      distinct.push_back(session);
    }
  }
  return sentences;
}

std::string StaleText(const std::map<int64_t, std::string>& stale, size_t entries) {
  if (stale.empty()) return "";
  return fmt::format(
      "{} of {} {} stale, because solvers have changed since: {} 'attune golden show' marks what "
      "is; measured anew and added, it is replaced.\n",
      stale.size(), Counted(entries, "entry", "entries"), IsOrAre(stale.size()),
      stale.begin()->second);
}

}  // namespace attune
