// The outcome of a run's jobs, in text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/attune/json_text.h"
#include "attune/base/status.h"

namespace attune {

// Jobs that --stale queued before a run.
struct StaleQueue {
  int64_t requeued = 0;      // Jobs with a solver that changed since they ended.
  int64_t added = 0;         // Jobs...
  int64_t new_problems = 0;  // ...of so many problems, which had none.
};

// Jobs of a session that have not succeeded, by any process.
struct OpenJobs {
  int64_t left = 0;    // Still to be done.
  int64_t failed = 0;  // And stay so until a user queues them again.
};

struct JobRunSummary {
  int compile_threads = 0;  // JobRunOptions::compile_threads.
  StaleQueue queued;        // By --stale.
  int64_t done = 0;
  int64_t failed = 0;
  int64_t given_back = 0;             // Leased, and not begun or not ended when the run ended.
  int64_t lost = 0;                   // Ended here after they were cancelled or taken over.
  std::optional<OpenJobs> open;       // At its end; nothing if the store could not say.
  int64_t problems_without_jobs = 0;  // Problems in the session.
  std::string stopped_because;        // A sentence, if the run gave up.
  bool device_is_elsewhere = false;   // So that nothing could be measured.
  bool was_interrupted = false;       // Asked to end (Ctrl-C, SIGTERM) with jobs left.
  Status failure;                     // The error that ended the run: a store that failed.
  std::map<std::string, int64_t> failures;  // By JobError::kind.
  std::vector<std::string> troubles;        // One sentence for each failure.
};

Json ToJson(const JobRunSummary& summary);
std::string Text(const JobRunSummary& summary);
// 0 if everything is done, 3 if something failed, in this run or before it, or is left; 1 if
// nothing that was tried is done.
int ExitStatusOf(const JobRunSummary& summary);

}  // namespace attune
