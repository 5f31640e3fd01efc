// What a session has to do, one solver on one problem at a time, and how far it is.
// docs/formats/sessions.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// What is searched: find tries one config of a solver, the best that the session recorded, else its
// default; perf searches its whole space.
enum class JobSearch { kFind, kPerf };
// Compiling needs no device, only the toolchain; measuring takes one.
enum class JobWork { kCompile, kMeasure };

struct JobStep {
  JobSearch search = JobSearch::kPerf;
  JobWork work = JobWork::kMeasure;

  friend auto operator<=>(const JobStep&, const JobStep&) = default;
};

// "find:compile", "find:measure", "perf:compile", "perf:measure".
std::string Text(const JobStep& step);
Result<JobStep> ParseJobStep(std::string_view text);
// All four in the order in which they are run: perf before find, which measures what perf has
// found; compiling before measuring.
std::vector<JobStep> AllJobSteps();

enum class JobState {
  kQueued,     // Nobody has it.
  kLeased,     // Somebody works on it, until its deadline at the longest.
  kDone,       // What came of it is recorded.
  kFailed,     // It was tried, and `error` says what became of it.
  kCancelled,  // It will not be tried, by somebody's wish or because its compile failed.
};
inline constexpr int kJobStates = 5;
std::string_view Name(JobState state);
Result<JobState> ParseJobState(std::string_view name);

struct JobError {
  std::string kind;  // A FailureKind's name, or another class of docs/formats/sessions.md.
  std::string text;  // Any bytes.

  friend bool operator==(const JobError&, const JobError&) = default;
};

struct Job {
  int64_t id = 0;  // Given by the store.
  Problem problem;
  std::string solver;  // Its name; under which version it ran, `entry_id` says.
  JobStep step;
  int64_t priority = 0;  // Higher ones first.
  std::string reason;    // Of whoever loaded it; may be empty.
  std::string loaded_by;
  int64_t loaded_unix_ns = 0;

  JobState state = JobState::kQueued;
  bool is_ready = true;  // Whether its own compile is done, or there is none.
  int64_t attempts = 0;  // Times that it was leased; never less, so that it tells leases apart.
  int64_t lost = 0;      // Leases that expired since it was queued by somebody's wish.
  std::string owner;     // Who has or had it: user@host:namespace.boot:process.
  int64_t deadline_unix_ns = 0;  // Of its lease; 0 unless leased.
  int64_t changed_unix_ns = 0;   // When its state changed last.
  int64_t entry_id = 0;          // SolverEntry::id under which it ended last; 0 if it never did.
  std::string set_id;            // Of what was measured; empty if nothing was.
  JobError error;                // Of the last attempt that failed; empty kind if there is none.

  friend bool operator==(const Job&, const Job&) = default;
};

// A job of which so many leases expired has failed: it takes down whoever tries it.
inline constexpr int64_t kMostLostLeases = 3;

}  // namespace attune
