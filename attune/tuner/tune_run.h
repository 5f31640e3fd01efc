// Tunes a list of problems within a budget, skipping tuned ones: those with a finished, valid set
// that had as much time in a final as they would have in this run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/record/record_store.h"
#include "attune/tuner/problem_turns.h"
#include "attune/tuner/tuner.h"

namespace attune {

struct RunOptions {
  int64_t budget_ns = 0;  // Whole run; 0 means no limit. The current problem may finish, unless its
                          // reference is expected to take longer than the rest and than a problem
                          // has, or no candidate is built and loaded by then (TimeToQualify).
  bool retune = false;    // Also problems that were tuned before the run began, those measured
                          // longest ago first.
  std::function<bool()>
      stop_requested;  // Called between problems, and while a reference is computed, which is
                       // then given up: SIGINT ends a run in order. May be null.
  // Turns with other processes that tune the same problems; null if there are none. A problem that
  // another process tunes is left for the end, and then usually tuned.
  ProblemTurns* turns = nullptr;
};

// The outcome of one problem of the list.
struct ProblemOutcome {
  enum class Kind { kTuned, kAlreadyTuned, kUnsupported, kFailed, kNotReached };
  Problem problem;
  Kind kind = Kind::kNotReached;
  TuneReport report;    // kTuned only.
  std::string message;  // kUnsupported and kFailed: why. Also if another process tuned it, if the
                        // run was stopped, and why the earlier tuning was not enough.
  // kNotReached, and another run with this budget would not reach it either: it had the whole run
  // to itself, and was neither interrupted nor had to wait.
  bool exceeds_run = false;
};
std::string_view Name(ProblemOutcome::Kind kind);

struct RunSummary {
  std::vector<ProblemOutcome> outcomes;  // In the order of the list.
  int64_t wall_ns = 0;
  int64_t busy_ns = 0;
  int64_t device_busy_ns = 0;
};

struct RunProgress {
  size_t problem_index = 0;
  size_t problem_count = 0;  // Problems that have to be tuned.
  const Problem* problem = nullptr;
  TuneProgress tune;
  int64_t elapsed_ns = 0;
  int64_t eta_ns = 0;                        // Expected remaining; 0 while unknown.
  const ProblemOutcome* finished = nullptr;  // Set once, when a problem ends.
};

// True if an error of Tuner::Tune or ObjectiveSession::Run is the store's: the next problem would
// meet the same.
bool EndsTheRun(const Status& status);

// A failure of the store (unreadable records, a full disk) ends the run and is returned. Three
// problems in a row that cannot be evaluated end it too, and the rest is kNotReached.
Result<RunSummary> TuneAll(Tuner& tuner, std::span<const TaggedProblem> problems,
                           const RunOptions& options,
                           const std::function<void(const RunProgress&)>& listener);

}  // namespace attune
