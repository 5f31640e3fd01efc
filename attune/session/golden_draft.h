// The content of a golden version while results of sessions are added to it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/record/select.h"
#include "attune/session/golden.h"
#include "attune/session/session.h"
#include "attune/session/solver_table.h"

namespace attune {

// Where and when something was measured.
struct Evidence {
  Environment environment;
  int64_t started_unix_ns = 0;
};

struct GoldenDraft {
  std::string version;  // Its name, for messages.
  std::map<GoldenQuestion, GoldenEntry> standing;
  std::map<std::string, Evidence> evidence;  // By GoldenEntry::set_id.
  std::vector<GoldenEntry> taken;            // In order; a later one has the word.
};

// A decision of a session, with everything that it depended on.
struct GoldenRival {
  Choice choice;
  Evidence evidence;
};

// Results of a session. Borrows all of them.
struct SessionResults {
  const Session& session;
  const SolverTable& solvers;           // The newest of the session.
  std::span<const GoldenRival> rivals;  // One for each question.
};

// Author, time and mode of additions.
struct GoldenTaker {
  std::string added_by;
  int64_t added_unix_ns = 0;
  bool force = false;  // Takes all, also results that are slower or of another environment.
};

// Number of results by outcome.
struct GoldenAdditions {
  std::map<std::string, int64_t> taken;  // By Name(GoldenReason).
  int64_t same = 0;
  int64_t kept = 0;   // The incumbent stays.
  int64_t stale = 0;  // Its solver has changed since it was measured.
};

// True if the solver of `entry` of `draft` is unchanged, by the solvers of a session that has found
// `rival`: another solver outdates it, and so does other code of the same one if that is newer.
bool IsValid(const GoldenDraft& draft, const GoldenEntry& entry, const GoldenRival& rival,
             const SolverTable& solvers);

// Takes results that are new, faster, or replace an invalid entry (Decide); all results of the
// session compete with the entries before it. `sessions`: those of all entries, by name. Adds to
// `additions`. Without force, kFailedPrecondition if environments would mix, with the differences,
// and `draft` is unchanged.
Status AddResults(const SessionResults& results, const std::map<std::string, Session>& sessions,
                  const GoldenTaker& taker, GoldenDraft& draft, GoldenAdditions& additions);

}  // namespace attune
