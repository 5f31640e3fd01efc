// Decides what a miss means and what follows it.
//
// A miss is a call whose problem has no plan yet. PlanServer::MakeFirst() handles each in one pass:
//
//   1. If TunesFirst(): rank the options; tune the problem here unless it is tuned.
//   2. Rank the options (Dispatcher::Rank) and serve by the first that is ready, or that HasteOf()
//      allows to make ready (Dispatcher::Serve).
//   3. Decide the rest by DecideMiss(), and carry it out.
//
// DecideMiss() is a function from values to a value: it asks, counts and logs nothing. Everything
// that a policy changes about a miss is in this file.
//
//   outcome       reason                         wants tuning  records  improves
//   kServed       first_call, unrecorded,        yes           yes      if a stand-in serves
//                 stale or not_ready
//   kLeft         first_call; not_ready if a     yes           yes      if a stand-in serves
//                 record is being made ready
//   kUnbuilt      failed                         yes           yes      yes
//   kUnknown      unrecorded                     yes           yes      no
//   kNoResources  failed                         no            if the   no
//                                                              caller
//                                                              computes
//   kImpossible   failed                         no            no       no
//
// A deterministic run time never improves what serves.
//
// A problem that wants tuning is tuned if a tuning would change something (`wants_tuning`), by the
// policy:
//
//   never     not
//   record    not; "records" applies under this policy alone
//   deferred  in the background; put off while the call is captured; not if deterministic
//   inline    by step 1, which skips captured calls; these are put off unless deterministic
#pragma once

#include "attune/dispatch/counters.h"
#include "attune/dispatch/plan.h"
#include "attune/dispatch/policy.h"

namespace attune {

// How the attempt to serve a miss ended.
enum class MissOutcome {
  kServed,       // An option computes the problem.
  kLeft,         // A record exists; the caller computes the problem for now, or for good.
  kUnbuilt,      // Calls fail until the background has compiled an option.
  kUnknown,      // Nothing is recorded; the caller computes the problem.
  kNoResources,  // A limit of the process or of the call excludes every option.
  kImpossible,   // Nothing computes the problem, for any other reason.
};

// The properties of the run time that matter to a miss. They never change.
struct MissRules {
  MissPolicy policy = MissPolicy::kDeferred;
  bool deterministic = false;
  bool can_tune = false;    // There is something that tunes.
  bool can_record = false;  // There is something that records.
  bool yields = false;      // DispatchOptions::yields: the caller computes without resources.
};

// One miss after the attempt to serve it.
struct MissFacts {
  MissOutcome outcome = MissOutcome::kServed;
  Launches launches = Launches::kExecuted;
  Origin origin = Origin::kDefault;  // The option that serves, by kServed.
  bool is_tuned = false;             // Serving::is_tuned.
  bool is_stand_in = false;          // Serving::is_stand_in.
  bool has_skipped_records = false;
  // The answer of ServerHooks::missed. False if step 1 has asked it.
  bool wants_tuning = false;
};

// The consequences of a miss.
struct MissDecision {
  enum class Tuning {
    kNone,
    kPutOff,  // The next call outside of a capture is a miss again.
    kInBackground,
  };

  MissReason reason = MissReason::kFailed;  // Counted and reported.
  Tuning tuning = Tuning::kNone;
  bool records = false;   // Add the problem to the list of the program.
  bool improves = false;  // Make the preferred option ready in the background.

  friend bool operator==(const MissDecision&, const MissDecision&) = default;
};

// True if the thread that missed tunes an untuned problem before it serves.
bool TunesFirst(const MissRules& rules, Launches launches);

// How much the call may wait: for anything if deterministic; under `inline` for a compilation if
// nothing else can serve; else for none.
Haste HasteOf(const MissRules& rules);

// True if ServerHooks::missed is asked about such a miss: something could serve the problem, or its
// caller computes it.
bool MayWantTuning(MissOutcome outcome);

MissDecision DecideMiss(const MissRules& rules, const MissFacts& facts);

}  // namespace attune
