#include "attune/session/golden_draft.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {
namespace {

using SessionsByName = std::map<std::string, Session>;

Result<const Session*> SessionOf(const GoldenEntry& entry, const SessionsByName& sessions) {
  const auto found = sessions.find(entry.session);
  if (found != sessions.end()) return &found->second;
  return DataLoss(fmt::format("A golden entry for {} rests on session '{}', which is not there.",
                              Text(entry.problem), entry.session));
}

// Finds incumbents of the same device and of another environment than a session. It compares two
// sessions once, and scans the entries of a device once, for any number of questions.
class MixCheck {
 public:
  MixCheck(const GoldenDraft& draft, const Session& session, const SessionsByName& sessions)
      : draft_(draft), session_(session), sessions_(sessions) {}

  // The entry that a result of the session would compete with or join although it is of the same
  // device and another environment; null if there is none. If the question has an incumbent, that
  // alone counts: the result would replace it, regardless of other entries.
  Result<const GoldenEntry*> Find(const GoldenQuestion& question) {
    const auto same = draft_.standing.find(question);
    if (same == draft_.standing.end()) return FirstOn(question.target);
    ATTUNE_ASSIGN_OR_RETURN(const bool differs, Differs(same->second));
    return differs ? &same->second : nullptr;
  }

 private:
  Result<const GoldenEntry*> FirstOn(const std::string& target) {
    const auto [known, is_new] = first_on_.try_emplace(target, nullptr);
    if (!is_new) return known->second;
    for (const auto& [question, entry] : draft_.standing) {
      if (question.target != target) continue;
      ATTUNE_ASSIGN_OR_RETURN(const bool differs, Differs(entry));
      if (!differs) continue;
      known->second = &entry;
      break;
    }
    return known->second;
  }

  Result<bool> Differs(const GoldenEntry& entry) {
    const auto [known, is_new] = differs_.try_emplace(entry.session, false);
    if (!is_new) return known->second;
    ATTUNE_ASSIGN_OR_RETURN(const Session* const standing, SessionOf(entry, sessions_));
    known->second = !DifferencesBetween(*standing, session_).empty();
    return known->second;
  }

  const GoldenDraft& draft_;
  const Session& session_;
  const SessionsByName& sessions_;
  std::map<std::string, bool> differs_;                 // By session.
  std::map<std::string, const GoldenEntry*> first_on_;  // By target; null for none.
};

Status RefuseToMix(const GoldenDraft& draft, const GoldenEntry& entry, const Session& session,
                   const SessionsByName& sessions) {
  ATTUNE_ASSIGN_OR_RETURN(const Session* const standing, SessionOf(entry, sessions));
  return FailedPrecondition(fmt::format(
      "Nothing was added to golden version '{0}': sessions '{1}' and '{2}' are of one device, {3}, "
      "and of different environments: {4}. Their results are neither compared nor put beside each "
      "other. Measure in one session what '{0}' is to have for this device, or take all of '{2}' "
      "with --force, which is recorded with each result.",
      draft.version, standing->name, session.name, Text(entry.target),
      fmt::join(DifferencesBetween(*standing, session), "; ")));
}

GoldenEntry EntryOf(const Choice& choice, const Session& session, GoldenReason reason,
                    const GoldenTaker& taker) {
  GoldenEntry entry;
  entry.problem = choice.problem;
  entry.target = choice.target;
  entry.candidate = choice.candidate;
  entry.set_id = choice.set_id;
  entry.session = session.name;
  entry.cache = choice.measurement.cache;
  entry.median_ns = choice.measurement.median_ns;
  entry.low_ns = choice.measurement.low_ns;
  entry.high_ns = choice.measurement.high_ns;
  entry.reason = reason;
  entry.added_by = taker.added_by;
  entry.added_unix_ns = taker.added_unix_ns;
  return entry;
}

bool IsStale(const GoldenRival& rival, const SolverTable& solvers) {
  const SolverId& solver = rival.choice.candidate.solver;
  return !ReasonStale(solvers, solver, CodeOf(solver.name, rival.evidence.environment)).empty();
}

}  // namespace

bool IsValid(const GoldenDraft& draft, const GoldenEntry& entry, const GoldenRival& rival,
             const SolverTable& solvers) {
  const SolverId& solver = entry.candidate.solver;
  const auto found = draft.evidence.find(entry.set_id);
  // An older session does not invalidate the results of a newer one.
  const bool is_newer = found == draft.evidence.end() ||
                        found->second.started_unix_ns >= rival.evidence.started_unix_ns;
  const Environment code =
      is_newer ? UnknownCode() : CodeOf(solver.name, found->second.environment);
  return ReasonStale(solvers, solver, code).empty();
}

Status AddResults(const SessionResults& results, const std::map<std::string, Session>& sessions,
                  const GoldenTaker& taker, GoldenDraft& draft, GoldenAdditions& additions) {
  MixCheck mix(draft, results.session, sessions);
  GoldenAdditions added = additions;
  std::vector<std::pair<GoldenEntry, Evidence>> taken;
  for (const GoldenRival& rival : results.rivals) {
    const Choice& choice = rival.choice;
    if (IsStale(rival, results.solvers)) {
      ++added.stale;
      continue;
    }
    const GoldenQuestion question = {Text(choice.target), Text(choice.problem),
                                     choice.measurement.cache};
    const auto found = draft.standing.find(question);
    const GoldenEntry* const stands = found == draft.standing.end() ? nullptr : &found->second;
    const bool may_stand = stands == nullptr || IsValid(draft, *stands, rival, results.solvers);
    const GoldenDecision decision = Decide(stands, may_stand, choice, taker.force, {});
    if (decision.verdict == GoldenVerdict::kSame) {
      ++added.same;
      continue;
    }
    ATTUNE_ASSIGN_OR_RETURN(const GoldenEntry* const incomparable, mix.Find(question));
    if (incomparable != nullptr && !taker.force) {
      return RefuseToMix(draft, *incomparable, results.session, sessions);
    }
    added.kept += decision.verdict == GoldenVerdict::kKeep ? 1 : 0;
    if (decision.verdict != GoldenVerdict::kTake) continue;
    // Beside another environment a result cannot count as new or faster.
    const GoldenReason reason = incomparable != nullptr ? GoldenReason::kForced : decision.reason;
    taken.emplace_back(EntryOf(choice, results.session, reason, taker), rival.evidence);
    ++added.taken[std::string(Name(reason))];
  }
  for (auto& [entry, evidence] : taken) {
    draft.evidence[entry.set_id] = std::move(evidence);
    // As the store will read it, by its evidence.
    draft.standing.insert_or_assign(QuestionOf(entry), entry);
    draft.taken.push_back(std::move(entry));
  }
  additions = std::move(added);
  return Status::Ok();
}

}  // namespace attune
