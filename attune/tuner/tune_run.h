// Tunes a list of problems within a budget, skipping what is tuned already: what has a finished,
// valid set, and had as much time in a final as it would have in this run.
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
  int64_t budget_ns =
      0;  // Of the whole run; 0 means no limit. A problem that was begun is finished, unless its
          // reference is expected to take longer than what is left and than a problem has, or
          // nobody is built and loaded by then (TimeToQualify).
  bool retune = false;  // Also what was tuned before the run began, what was measured longest ago
                        // first.
  std::function<bool()>
      stop_requested;  // Asked between problems, and while a reference is computed, which is then
                       // given up: SIGINT ends a run in order. May be null.
  // Whose turn it is where other processes tune the same problems; null if there are none. What
  // another one tunes is left for the end, and then usually tuned.
  ProblemTurns* turns = nullptr;
};

// What came of one problem of the list.
struct ProblemOutcome {
  enum class Kind { kTuned, kAlreadyTuned, kUnsupported, kFailed, kNotReached };
  Problem problem;
  Kind kind = Kind::kNotReached;
  TuneReport report;    // kTuned only.
  std::string message;  // kUnsupported and kFailed: why. Also where another process was at it,
                        // where the run was stopped, and why what was tuned before was not enough.
  // kNotReached, and another run with this budget would not reach it either: it had the whole run
  // to itself, and was neither interrupted nor made to wait.
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
  size_t problem_count = 0;  // Of those that have to be tuned.
  const Problem* problem = nullptr;
  TuneProgress tune;
  int64_t elapsed_ns = 0;
  int64_t eta_ns = 0;                        // Expected remaining; 0 while unknown.
  const ProblemOutcome* finished = nullptr;  // Set once, when a problem ends.
};

// Whether an error of Tuner::Tune or ObjectiveSession::Run is the store's: the next problem would
// meet the same.
bool EndsTheRun(const Status& status);

// A failure of the store (unreadable records, a full disk) ends the run and is returned. Three
// problems in a row that cannot be evaluated end it too, and the rest is kNotReached.
Result<RunSummary> TuneAll(Tuner& tuner, std::span<const TaggedProblem> problems,
                           const RunOptions& options,
                           const std::function<void(const RunProgress&)>& listener);

}  // namespace attune
