// The jobs of a session, each of one solver on one problem, and their states.
// docs/formats/sessions.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"

namespace attune {

// find tries one config of a solver, the best that the session recorded, else its default; perf
// searches its whole space.
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
// All four in execution order: perf before find, which measures the results of perf; compiling
// before measuring.
std::vector<JobStep> AllJobSteps();

enum class JobState {
  kQueued,     // No worker has it.
  kLeased,     // A worker has it, until its deadline at the longest.
  kDone,       // Its result is recorded.
  kFailed,     // It was tried, and `error` has the reason.
  kCancelled,  // It will not be tried: a user cancelled it or its compile failed.
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
  std::string reason;    // Given when it was loaded; may be empty.
  std::string loaded_by;
  int64_t loaded_unix_ns = 0;

  JobState state = JobState::kQueued;
  bool is_ready = true;  // True if its own compile is done, or there is none.
  int64_t attempts = 0;  // Number of its leases; never decreases, so that it identifies a lease.
  int64_t lost = 0;      // Leases that expired since a user queued it.
  std::string owner;     // Present or last owner: user@host:namespace.boot:process.
  int64_t deadline_unix_ns = 0;  // Deadline of its lease; 0 unless leased.
  int64_t changed_unix_ns = 0;   // When its state changed last.
  int64_t entry_id = 0;          // SolverEntry::id under which it ended last; 0 if it never did.
  std::string set_id;            // Its measurements; empty if there are none.
  JobError error;                // From the last failed attempt; empty kind if there is none.

  friend bool operator==(const Job&, const Job&) = default;
};

// A job fails after so many expired leases: it takes down every worker that tries it.
inline constexpr int64_t kMostLostLeases = 3;

}  // namespace attune
